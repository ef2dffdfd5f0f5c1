// HTTP from the command line: opening it, tokens for programs, and what becomes of them when their user is suspended.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { World } from '../testing/world.ts'

function world(): World {
  const made = new World()
  onTestFinished(() => made.close())
  return made
}

test('a program gets in with a token that its owner makes, and is out when its user is suspended', async () => {
  const { start, run, env } = bound(world())
  const node = start(['up', '--http', '0'])
  await node.printed('HTTP is open on http://127.0.0.1:')
  const status = JSON.parse((await run('doctor', '--json')).out) as { checks: { check: string; text: string }[] }
  const [at = ''] = /http:\/\/\S+?(?=;)/.exec(status.checks.find(({ check }) => check === 'http')!.text) ?? []
  const made = await run('token', 'create', '--user', 'ci', '--scope', 'read', '--name', 'nightly')
  const secret = made.out.trim()
  expect(secret).toMatch(/^parley_[a-z2-7]{12}_[\w-]{43}$/)
  const metrics = async () => (await fetch(`${at}/metrics`, { headers: { authorization: `Bearer ${secret}` } })).status
  expect(await metrics()).toBe(200)
  expect(await run('users', 'suspend', 'ci', '--reason', 'away')).toMatchObject({ code: 0 })
  expect(await metrics()).toBe(401)
  const { tokens } = JSON.parse((await run('token', '--json')).out) as { tokens: { id: string; state: string }[] }
  expect(tokens).toMatchObject([{ state: 'closed', user: 'ci', scopes: ['read'], name: 'nightly' }])
  expect(await run('token', 'revoke', tokens[0]!.id)).toMatchObject({ code: 0 })
  expect((await run('token', 'revoke', 'nobody')).code).toBe(3)
  const inside = start(['token', 'create', '--user', 'x', '--json'], { env: { ...env, PARLEY_TURN: 'run.ws.1' } })
  expect(JSON.parse((await inside.ended).err)).toMatchObject({ error: { code: 'inside_turn' } })
  if (process.platform === 'linux')
    expect(readFileSync(`/proc/${node.child.pid}/cmdline`, 'utf8')).not.toContain(secret.split('_').slice(2).join('_'))
  expect(await run('down')).toMatchObject({ code: 0 })
  const ended = await node.ended
  expect(ended.code).toBe(0)
  expect(`${ended.out}${ended.err}`).not.toContain(secret.split('_').slice(2).join('_'))
})

test('a port that is taken is told where it was asked for and by doctor, and work goes on', async () => {
  const { run } = bound(world())
  const other = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await new Promise(resolve => other.once('listening', resolve))
  const { port } = other.address() as { port: number }
  const up = await run('up', '--detach', '--http', String(port))
  expect(up).toMatchObject({
    code: 0,
    err: expect.stringContaining(`another program listens on http://127.0.0.1:${port}`),
  })
  const { checks } = JSON.parse((await run('doctor', '--json')).out) as { checks: { check: string; state: string }[] }
  expect(checks.find(({ check }) => check === 'http')).toMatchObject({ state: 'problem' })
  expect((await run('runs')).code).toBe(0)
})

function bound(made: World) {
  return {
    env: made.env,
    start: made.start.bind(made),
    run: (...args: string[]) => made.start(args).ended,
  }
}
