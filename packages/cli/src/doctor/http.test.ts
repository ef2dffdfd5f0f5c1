// The check of the HTTP surface: where it listens, why it does not, and nothing where nobody wants it.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { NodeStatus } from '../node/views.ts'
import { doctorHome, nodeWith } from '../testing/doctor.ts'
import type { Surroundings } from '../testing/parley.ts'

const { home, finding } = doctorHome()

const env = (on: boolean) => ({
  HOME: home(),
  PARLEY_HOME: join(home(), '.parley'),
  PATH: '',
  ...(on && { PARLEY_HTTP_ON: 'true' }),
})
const look = (on: boolean, around: Surroundings = {}) => finding('http', {}, { env: env(on), ...around })
const running = (http: NodeStatus['http']) => nodeWith({ http })
const open = { at: 'http://127.0.0.1:7424', problem: null, requests: 2, streams: 1 }

test('says nothing where HTTP is switched off', async () => {
  expect(await look(false)).toBeUndefined()
  expect(await look(false, { node: running(null) })).toBeUndefined()
})

test('says where it listens, also if only the running node was told to', async () => {
  const fine = { check: 'http', state: 'ok', text: 'listens on http://127.0.0.1:7424; 2 requests in progress' }
  expect(await look(true, { node: running(open) })).toEqual(fine)
  expect(await look(false, { node: running(open) })).toEqual(fine)
  expect(await look(true)).toMatchObject({ state: 'ok', text: expect.stringContaining('no node is running') })
})

test('says why it is not open, and that a change needs a new start', async () => {
  const problem = { code: 'http_port_in_use', message: 'HTTP is not open: another program listens there.' }
  const closed = running({ ...open, at: null, problem })
  expect(await look(true, { node: closed })).toMatchObject({ state: 'problem', text: problem.message })
  expect(await look(true, { node: running(null) })).toMatchObject({ state: 'warning' })
})
