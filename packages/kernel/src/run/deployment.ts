// The deployment model (W-SEC-13): what a runtime vouches for. It declares one and does not start where it lacks what that takes.
import { ParleyError } from '@parley/core'
import { DEPLOYMENT_MODELS, type DeploymentModel } from '@parley/trail/events'

/** The trust boundary is this process, and access control enforces visibility inside it. */
export const DEPLOYMENT_MODEL: DeploymentModel = 'single-runtime'

/** W-SEC-16: what the other models ask for and this runtime does not have. */
const MISSING: { readonly [M in DeploymentModel]?: string } = {
  'shared-infrastructure':
    'encrypted transport with mutual authentication between components, and encryption at rest',
  'zero-trust': 'encryption at rest and in transit with a key for each workspace',
}

/** A start-up error, before anything is written, for every model but the one that this runtime can keep. */
export function requireDeployment(declared: string = DEPLOYMENT_MODEL): void {
  const model = DEPLOYMENT_MODELS.find(each => each === declared.replaceAll('_', '-'))
  if (model === undefined)
    throw new ParleyError(
      'invalid_argument',
      `There is no deployment model '${declared.slice(0, 80)}'; there are ${DEPLOYMENT_MODELS.join(', ')}.`,
      { details: { reason: 'unknown_deployment_model' } },
    )
  const missing = MISSING[model]
  if (missing !== undefined)
    throw new ParleyError(
      'unsupported',
      `The deployment model '${model}' needs ${missing}, which this runtime does not have. Declare '${DEPLOYMENT_MODEL}' to run inside one trusted process.`,
      { details: { reason: 'unmet_deployment_model', model } },
    )
}
