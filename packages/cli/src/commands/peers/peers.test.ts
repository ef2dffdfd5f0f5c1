import { CallError } from '@parley/call'
import { expect, test } from 'vitest'
import type { IdentityView, NodeStatus, PeerView, PendingView } from '../../node/views.ts'
import { type Brought, fakeNode } from '../../testing/fake-node.ts'
import { parley } from '../../testing/parley.ts'
import { FakeTerminal } from '../../testing/terminal.ts'

const KEY = 'A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg='
const SPOKEN = '12345 67890 12345 67890 12345 67890 12345 67890'
const INVITATION = 'alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg@127.0.0.1:7423#mira'

const identity: IdentityView = {
  profile: 'default',
  pubkey: KEY,
  fingerprint: 'SHA256:mine',
  spoken: SPOKEN,
  invitation: INVITATION,
  listening: [
    { carrier: 'unix', at: '/srv/mira/.parley/default/alp/alp.sock' },
    { carrier: 'tcp', at: '127.0.0.1:7423' },
  ],
}

const bob: PeerView = {
  id: 'bob',
  pubkey: KEY,
  fingerprint: 'SHA256:bob',
  spoken: SPOKEN,
  address: 'bob.lan:7423',
  allow: ['link.ping', 'link.ask'],
  per_minute: 60,
}

function withStatus(idle_timeout_ms: number, brought: Brought) {
  return fakeNode({ ...brought, '/node/status': { idle_timeout_ms } as NodeStatus })
}

test('id shows the key, the digits to compare aloud, where it listens, and the whole line to paste', async () => {
  const node = withStatus(0, { '/link/identity': identity })
  expect(await parley(['id'], { node })).toEqual({
    code: 0,
    err: '',
    out: `profile      default
key          ${KEY}
fingerprint  SHA256:mine
aloud        ${SPOKEN}
listens      unix /srv/mira/.parley/default/alp/alp.sock
             tcp 127.0.0.1:7423

Anyone who pastes this line pins you. Compare the digits above aloud:
parley peers add ${INVITATION}
`,
  })
  expect((await parley(['id', '--quiet'], { node })).out).toBe(`parley peers add ${INVITATION}\n`)
  expect(JSON.parse((await parley(['id', '--json'], { node })).out)).toEqual({
    ...identity,
    paste: `parley peers add ${INVITATION}`,
  })
})

test('id says where nobody can reach this profile, or only for a while', async () => {
  const local = { ...identity, listening: identity.listening.slice(0, 1) }
  const later = await parley(['id'], { node: withStatus(0, { '/link/identity': local }) })
  expect(later.err).toContain('the first `parley peers add` opens it')
  const nameless = { ...local, invitation: 'alp://key#mira' }
  const here = await parley(['id'], { node: withStatus(0, { '/link/identity': nameless }) })
  expect(here.err).toContain('network.host')
  const off = { ...identity, listening: [] }
  const nowhere = await parley(['id'], { node: withStatus(600_000, { '/link/identity': off }) })
  expect(nowhere.out).toContain('listens      nowhere')
  expect(nowhere.err).toBe('Nobody can reach this profile: `service.alp` is false in its config.yaml.\n')
  const idle = await parley(['id'], { node: withStatus(600_000, { '/link/identity': identity }) })
  expect(idle.err).toContain('parley up --detach')
})

test('ALP-ID-05 id rotate says whom it cuts off and that there is no way back, asks, and prints the line to send', async () => {
  let rotations = 0
  const node = fakeNode({
    '/peers/list': { peers: [bob, { ...bob, id: 'carol' }], problems: [] },
    '/link/rotate-key': async () => {
      rotations++
      return {
        old: { pubkey: KEY, fingerprint: 'SHA256:old' },
        new: { pubkey: 'new=', fingerprint: 'SHA256:new', spoken: SPOKEN },
        invitation: INVITATION,
        recorded: true,
        peers: ['bob', 'carol'],
      }
    },
  })
  const unasked = await parley(['id', 'rotate'], { node })
  expect(unasked).toMatchObject({ code: 5, out: '' })
  expect(unasked.err).toContain('--yes')
  const no = new FakeTerminal({ interactive: true, answers: [''] })
  expect((await parley(['id', 'rotate'], { node, terminal: no })).code).toBe(5)
  expect(no.output).toContain('gets silence until they pin the new key')
  expect(no.output).toContain('bob, carol')
  expect(no.output).toContain('cannot be undone')
  expect(no.output).toContain('what the old key has signed stays valid')
  expect(rotations).toBe(0)
  const yes = new FakeTerminal({ interactive: true, answers: ['y'] })
  expect((await parley(['id', 'rotate'], { node, terminal: yes })).code).toBe(0)
  expect(yes.output).toContain(`Send this line to bob, carol.`)
  expect(yes.output).toContain(`aloud    ${SPOKEN}\n`)
  expect(yes.output.endsWith(`\nparley peers add ${INVITATION}\n`)).toBe(true)
  const script = await parley(['id', 'rotate', '--yes', '--json'], { node })
  expect(JSON.parse(script.out)).toMatchObject({
    peers: ['bob', 'carol'],
    paste: expect.stringContaining('alp://'),
  })
  expect(rotations).toBe(2)
})

test('peers alone is peers list: a table for people, all of it for programs, problems of the file beside it', async () => {
  const node = fakeNode({
    '/peers/list': {
      peers: [
        { ...bob, spent_today: { usd: 0.25, tokens: 1200 } },
        { ...bob, id: 'carol', alias: 'Carol\u001b[2J', allow: [] },
      ],
      problems: ['entry 3 is no mapping'],
    },
  })
  const wide = new FakeTerminal({ columns: 160 })
  const people = await parley(['peers'], { node, terminal: wide })
  expect(people).toEqual(await parley(['peers', 'list'], { node, terminal: new FakeTerminal({ columns: 160 }) }))
  expect(people.out).toBe(
    `PEER   ALIAS  ADDRESS       MAY                    RATE               TODAY  FINGERPRINT
bob           bob.lan:7423  link.ping, link.ask  60/min  $0.25, 1.2k tokens  SHA256:bob
carol  Carol  bob.lan:7423  nothing              60/min                      SHA256:bob
`,
  )
  expect(people.err).toBe('warning: entry 3 is no mapping\n')
  const program = JSON.parse((await parley(['peers', '--json'], { node })).out)
  expect(program).toMatchObject({ peers: [{ id: 'bob' }, { id: 'carol' }], problems: [expect.any(String)] })
  expect((await parley(['peers', 'list', 'bob'], { node })).out).toContain(`aloud        ${SPOKEN}\n`)
  const nobody = await parley(['peers', 'list', 'bop'], { node })
  expect(nobody).toMatchObject({ code: 3, out: '' })
  expect(nobody.err).toContain("Did you mean 'bob'?")
  const none = fakeNode({ '/peers/list': { peers: [], problems: [] } })
  expect((await parley(['peers'], { node: none })).out).toContain('parley id')
})

test('help on peers lists its commands, although the word alone does something', async () => {
  const { out, code } = await parley(['peers', '--help'])
  expect(code).toBe(0)
  expect(out).toContain('usage: parley peers list | add | remove | allow | pending | accept | dismiss')
  expect(out).toContain('`parley peers` alone means `parley peers list`.')
})

test('peers add takes the pasted line or a key, and says to compare the digits aloud', async () => {
  const node = fakeNode({
    '/peers/pin': { peer: bob },
  })
  const pasted = await parley(['peers', 'add', INVITATION], { node })
  expect(pasted.code).toBe(0)
  expect(pasted.out).toContain(`aloud        ${SPOKEN}\n`)
  expect(pasted.err).toContain("Compare the digits after 'aloud' with the owner of bob")
  expect(pasted.err).toContain('parley peers remove bob')
  const flags = ['--id', 'bob', '--address', 'h:1', '--alias', 'Bob', '--allow', 'link.ping,link.ask', '--rate', '5']
  await parley(['peers', 'add', KEY, ...flags], { node })
  await parley(['peers', 'add', INVITATION, '--allow', 'none'], { node })
  await parley(['peers', 'add', INVITATION, '--allow', 'link.ping', '--allow', 'link.cancel'], { node })
  expect(node.asked('/peers/pin')).toEqual([
    { invitation: INVITATION },
    { pubkey: KEY, id: 'bob', address: 'h:1', alias: 'Bob', allow: ['link.ping', 'link.ask'], per_minute: 5 },
    { invitation: INVITATION, allow: [] },
    { invitation: INVITATION, allow: ['link.ping', 'link.cancel'] },
  ])
  const nameless = await parley(['peers', 'add', KEY], { node })
  expect(nameless).toMatchObject({ code: 2, out: '' })
  expect(nameless.err).toContain('--id NAME')
  expect((await parley(['peers', 'add', INVITATION.replace('#mira', '')], { node })).code).toBe(2)
})

test('peers remove and allow say what holds from now on', async () => {
  const node = fakeNode({
    '/peers/unpin': { peer: bob },
    '/peers/allow': async ({ allow }) => ({ peer: { ...bob, allow: [...allow] } }),
  })
  expect((await parley(['peers', 'remove', 'bob'], { node })).out).toBe('bob is no longer pinned, and gets silence.\n')
  const some = await parley(['peers', 'allow', 'bob', 'link.ping', 'link.ask,link.cancel'], { node })
  expect(some.out).toBe('bob may call link.ping, link.ask, link.cancel, and nothing else.\n')
  expect((await parley(['peers', 'allow', 'bob', 'none'], { node })).out).toBe('bob may call nothing here.\n')
  expect(node.asked('/peers/allow')).toEqual([
    { id: 'bob', allow: ['link.ping', 'link.ask', 'link.cancel'] },
    { id: 'bob', allow: [] },
  ])
  expect((await parley(['peers', 'allow', 'bob'], { node })).code).toBe(2)
  expect((await parley(['peers', 'allow', 'bob', 'none', 'link.ask'], { node })).code).toBe(2)
})

test('ALP-PEND-05 strangers are listed with their digits, accepted under a name that one chooses, or dismissed', async () => {
  const stranger: PendingView = {
    pubkey: KEY,
    fingerprint: 'SHA256:bob',
    spoken: SPOKEN,
    address: '127.0.0.1:50123',
    first_seen: 0,
    last_seen: 0,
  }
  const node = fakeNode({
    '/peers/pending': {
      pending: [stranger, { ...stranger, address: undefined } as unknown as PendingView],
    },
    '/peers/accept': { peer: bob },
    '/peers/dismiss': { pubkey: KEY },
  })
  const listed = await parley(['peers', 'pending'], { node })
  expect(listed.out).toContain(`key    ${KEY}\naloud  ${SPOKEN}\nfrom   127.0.0.1:50123\nseen   `)
  expect(listed.out).toContain('from   this machine')
  expect(listed.err).toContain('parley peers accept KEY --id NAME')
  expect((await parley(['peers', 'accept', 'A6EH'], { node })).code).toBe(2)
  const taken = await parley(['peers', 'accept', 'A6EH', '--id', 'bob', '--address', 'bob.lan:1'], { node })
  expect(taken.out).toContain(SPOKEN)
  expect(node.asked('/peers/accept')).toEqual([{ key: 'A6EH', id: 'bob', address: 'bob.lan:1' }])
  expect((await parley(['peers', 'dismiss', 'A6EH'], { node })).out).toBe(`Forgotten: ${KEY}\n`)
  const several = fakeNode({
    '/peers/accept': new CallError('ambiguous', '2 keys begin so; give more of it.'),
    '/peers/dismiss': new CallError('not_found', 'Nobody with this key has called.'),
  })
  for (const args of [
    ['accept', 'A6EH', '--id', 'bob'],
    ['dismiss', 'A6EH'],
  ]) {
    const failed = await parley(['peers', ...args], { node: several })
    expect(failed.code).toBe(3)
    expect(failed.err).toContain('next: `parley peers pending`')
  }
  const nobody = fakeNode({ '/peers/pending': { pending: [] } })
  expect(await parley(['peers', 'pending'], { node: nobody })).toMatchObject({
    out: 'No stranger has called.\n',
    err: '',
  })
})

test.each([
  ['bad_invitation', 2],
  ['invalid_peer', 2],
  ['peer_exists', 5],
  ['unknown_peer', 3],
  ['too_many_peers', 5],
  ['peers_unreadable', 6],
  ['locked', 5],
  ['link_off', 5],
])('a refusal of the list (%s) ends with %i, and says what to do next', async (code, exit) => {
  const node = fakeNode({
    '/peers/pin': new CallError(code, 'It does not go.'),
  })
  const failed = await parley(['peers', 'add', INVITATION], { node })
  expect(failed).toMatchObject({ code: exit, out: '' })
  expect(failed.err).toContain('  next: ')
})
