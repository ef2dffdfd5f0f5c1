// The check of the link: its key, the list of peers, where it listens, who waits to be let in.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { NodeStatus } from '../node/views.ts'
import { doctorHome, KEY, nodeWith, on, own } from '../testing/doctor.ts'
import type { Surroundings } from '../testing/parley.ts'
import type { Probes } from './check.ts'

const { home, finding, write } = doctorHome()

const env = () => ({
  HOME: home(),
  PARLEY_HOME: join(home(), '.parley'),
  PATH: '',
  ALPI_NETWORK_HOST: '127.0.0.1',
  ALPI_ALP_TCP_PORT: '7423',
})
const peer = (id: string, key: string) => `- id: "${id}"\n  pubkey: "${key}"\n  allow: ["link.ping"]\n`
const ANNA = 'A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg='
const used = on({ trail: 1 })
const unix = { carrier: 'unix', at: '/p/alp/alp.sock' } as const
const tcp = { carrier: 'tcp', at: '127.0.0.1:7423' } as const
const reached = (link: Partial<NonNullable<NodeStatus['link']>>, problems: string[] = []) => {
  const whole = { listening: [unix, tcp], peers: 1, pending: 0, problems: problems.length, ...link }
  return nodeWith({ link: whole }, { '/peers/list': { peers: [], problems } })
}
const look = (probes: Partial<Probes>, around: Surroundings = {}) => finding('link', probes, { env: env(), ...around })

test('ALP-ID-02 has its key from the first node on, and one that is gone later is a problem', async () => {
  expect(await look({})).toMatchObject({ state: 'ok', text: expect.stringContaining('the first node') })
  const gone = { file: (path: string) => (path.endsWith('/trail') ? own : undefined) }
  expect(await look(gone)).toMatchObject({
    state: 'problem',
    text: expect.stringContaining('alp_key.pem is missing'),
    remedy: expect.stringContaining('backup'),
  })
})

test.each(['alp_key.pem', 'replay.jsonl', 'pending_peers.yaml', 'alp.sock'])(
  'ALP-ID-02 keeps %s to its owner',
  async name => {
    const file = (path: string) => (path.endsWith(name) ? { ...KEY, mode: 0o644 } : used.file(path))
    expect(await finding('permissions', { file })).toMatchObject({
      state: 'problem',
      text: expect.stringContaining(name),
    })
  },
)

test('ALP-TCP-01 without a node says where one would listen, who is pinned and who called', async () => {
  write('alp/peers.yaml', peer('anna', ANNA))
  const text = '1 peer pinned; no node is running, one would listen on 127.0.0.1:7423'
  expect(await look(used)).toEqual({ check: 'link', state: 'ok', text })
  write(
    'alp/pending_peers.yaml',
    '- pubkey: "Kay64UG8yvCyLhqU000LxzYeUm0L/hLIl5S8kyKWbdc="\n  first_seen: 1.0\n  last_seen: 1.0\n',
  )
  expect((await look(used))?.text).toBe(`${text}; 1 stranger called and got silence: parley peers pending`)
})

test.each([
  ['is no list', 'peers: none\n', 'not a YAML list'],
  ['has an entry that counts for nothing', `${peer('anna', ANNA)}- id: bob\n`, 'Entry 2 (bob) has no pubkey'],
  ['has two of one name', peer('anna', ANNA) + peer('anna', ANNA), 'has the id of another one'],
])('ALP-PEER-01 a list that %s is a problem', async (_what, text, words) => {
  write('alp/peers.yaml', text)
  expect(await look(used)).toMatchObject({
    state: 'problem',
    text: expect.stringContaining(words),
    remedy: expect.stringContaining('peers.yaml'),
  })
})

test('ALP-TCP-01 with a node says where it listens', async () => {
  expect(await look(used, { node: reached({ pending: 2 }) })).toEqual({
    check: 'link',
    state: 'ok',
    text: '1 peer pinned; listens on unix /p/alp/alp.sock, tcp 127.0.0.1:7423; 2 strangers called and got silence: parley peers pending',
  })
})

test('ALP-TCP-01 a port that could not be bound is a problem, with why', async () => {
  const node = reached({ listening: [unix] }, ['The node is not listening for peers: EADDRINUSE'])
  expect(await look(used, { node })).toMatchObject({
    state: 'problem',
    text: 'the node does not listen on TCP (127.0.0.1:7423): The node is not listening for peers: EADDRINUSE',
    remedy: expect.stringContaining('alp.tcp_port'),
  })
  write('config.yaml', 'alp: { call_port: 7500 }\n')
  expect((await look(used, { node: reached({}) }))?.text).toContain('the call port')
})

test('what is wrong with the list is asked of the node', async () => {
  const node = reached({}, ['Entry 3 is no mapping.', 'Entry 4 is no mapping.'])
  expect(await look(used, { node })).toMatchObject({
    state: 'problem',
    text: 'Entry 3 is no mapping. (and 1 more problem)',
  })
})

test('ALP-UNIX-01 off is off, and the node has to follow', async () => {
  write('config.yaml', 'service: { alp: false }\n')
  expect(await look(used)).toMatchObject({ state: 'ok', text: expect.stringContaining('service.alp') })
  expect(await look(used, { node: reached({}) })).toMatchObject({ state: 'warning' })
  write('config.yaml', 'service: { alp: true }\n')
  expect(await look(used, { node: nodeWith({ link: null }) })).toMatchObject({ state: 'warning' })
})
