// The deployment model that a runtime vouches for (W-SEC-13, -16); docs/guide/security.md says what each one protects.
import { ParleyError } from '@parley/core'
import type { ContentCipher, StateCacheStore } from '@parley/trail'
import { DEPLOYMENT_MODELS, type DeploymentModel } from '@parley/trail/events'
import type { Transport } from '../runtime/actor/transport.ts'

/** The trust boundary is this process, and access control enforces visibility inside it. */
export const DEPLOYMENT_MODEL: DeploymentModel = 'single-runtime'

interface Mechanisms {
  readonly sealing: ContentCipher['sealing']
  readonly secret: boolean
  readonly stateCache: Pick<StateCacheStore, 'sealed'> | undefined
  readonly transport: Pick<Transport, 'protection'>
}

/** Undefined for what is no model; underscores are taken for dashes (W-SEC-13). */
export function deploymentModel(text: string): DeploymentModel | undefined {
  return DEPLOYMENT_MODELS.find(each => each === text.replaceAll('_', '-'))
}

export function requireDeployment(declared: string | undefined, mechanisms: Mechanisms): DeploymentModel {
  const model = declared === undefined ? DEPLOYMENT_MODEL : deploymentModel(declared)
  if (model === undefined)
    throw new ParleyError(
      'invalid_argument',
      `There is no deployment model '${declared?.slice(0, 80)}'; there are ${DEPLOYMENT_MODELS.join(', ')}.`,
      { details: { reason: 'unknown_deployment_model' } },
    )
  const missing = missingFor(model, mechanisms)
  if (missing.length > 0)
    throw new ParleyError(
      'unsupported',
      `The deployment model '${model}' needs ${missing.join(', and ')}. Nothing was started. Bring what is missing, or declare '${DEPLOYMENT_MODEL}' to run inside one trusted process.`,
      { details: { reason: 'unmet_deployment_model', model, missing } },
    )
  return model
}

function missingFor(model: DeploymentModel, mechanisms: Mechanisms): readonly string[] {
  const { sealing, secret, stateCache, transport } = mechanisms
  const atRest = stateCache && !stateCache.sealed ? ['kept states that are encrypted at rest'] : []
  switch (model) {
    case 'single-runtime':
      return []
    case 'shared-infrastructure': {
      const storage = sealing === 'none' ? ['a trail whose content is encrypted at rest'] : []
      const network = transport.protection
        ? []
        : ['a transport that encrypts and authenticates both ends (it must say so)']
      return [...storage, ...atRest, ...network]
    }
    case 'zero-trust': {
      const storage =
        sealing === 'workspace' ? [] : ['a trail whose content is encrypted at rest with a key for each workspace']
      const proofs = secret ? [] : ["the profile's secret, from which keys and proofs are made"]
      return [...storage, ...atRest, ...proofs]
    }
  }
}
