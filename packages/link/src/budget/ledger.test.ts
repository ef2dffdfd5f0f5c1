// The daily ledger (ALP-BUD-01 to -03): its file byte for byte, the cap, and that no crash forgets what was spent.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { capOf, type Grant, INTERACTIVE, type Ledger, limits, ManualClock, SystemClock } from '@parley/core'
import { type Disk, machineDisk } from '@parley/keys/files'
import { expect, onTestFinished, test } from 'vitest'
import { linkPaths } from '../identity/files.ts'
import { at } from '../testing/clock.ts'
import { Crash, CrashingDisk } from '../testing/crashing-disk.ts'
import { temporaryFolder } from '../testing/homes.ts'
import { openLedger } from './ledger-file.ts'

function ledgerOf(cap: unknown, start = '2026-04-23T12:00:00Z') {
  const path = linkPaths(temporaryFolder()).ledger
  const clock = new ManualClock(at(start))
  const state = { cap }
  const open = (disk?: Disk, failed = (_what: string) => {}) =>
    openLedger(path, { clock, cap: () => state.cap, disk, failed })
  const write = (text: string) => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  return { path, clock, state, open, write, ledger: open(), text: () => readFileSync(path, 'utf8') }
}

function granted(ledger: Ledger, name = 'alice', wanted = {}): Grant {
  const grant = ledger.reserve(name, wanted)
  if (!grant.ok) throw new Error('refused')
  return grant.value
}

test('ALP-BUD-01 only a number above zero is a cap', () => {
  for (const value of [undefined, null, 0, -1, '5', true, Number.NaN, Number.POSITIVE_INFINITY, {}, [5]])
    expect(capOf(value), String(value)).toBeUndefined()
  for (const value of [5, 0.01]) expect(capOf(value)).toBe(value)
})

test('ALP-BUD-01 every kind of turn draws from the one ledger, and a cap that changes applies at once', () => {
  const { ledger, state } = ledgerOf(1)
  granted(ledger, INTERACTIVE).settle({ usd: 0.75 })
  granted(ledger, 'alice').settle({ usd: 0.25 })
  expect(ledger.exhausted()).toEqual({ cap: 1, used: 1 })
  expect(ledger.reserve(INTERACTIVE)).toEqual({ ok: false, error: { cap: 1, used: 1 } })
  state.cap = 2
  expect(ledger.exhausted()).toBeUndefined()
  state.cap = 'none'
  expect(ledger.exhausted()).toBeUndefined()
})

test('ALP-BUD-02 the file is sorted, compact ASCII JSON, booked under the local ids', () => {
  const { ledger, text } = ledgerOf(undefined)
  granted(ledger, 'home-server').settle({ usd: 0.125, tokensIn: 10, tokensOut: 5 })
  granted(ledger, INTERACTIVE).settle({ usd: 1, tokensIn: 1 })
  granted(ledger, '10').settle({})
  granted(ledger, 'josé').settle({})
  granted(ledger, '2').settle({})
  expect(text()).toBe(
    '{"by_peer":{"10":{"tokens":0,"usd":0.0},"2":{"tokens":0,"usd":0.0},"__interactive__":{"tokens":1,"usd":1.0},"home-server":{"tokens":15,"usd":0.125},"jos\\u00e9":{"tokens":0,"usd":0.0}},"day":"2026-04-23","history":{},"profile":{"tokens":16,"usd":1.125}}',
  )
})

test('ALP-BUD-02 another day, and a day that cannot be read, are zero; the day before is history for thirty days', () => {
  const { ledger, clock, write, text, open } = ledgerOf(1, '2026-04-23T23:59:59Z')
  granted(ledger).settle({ usd: 1 })
  expect(ledger.exhausted()).toEqual({ cap: 1, used: 1 })
  clock.advance(1000)
  expect(ledger.exhausted()).toBeUndefined()
  granted(ledger).settle({ usd: 0.5 })
  expect(JSON.parse(text())).toEqual({
    by_peer: { alice: { tokens: 0, usd: 0.5 } },
    day: '2026-04-24',
    history: { '2026-04-23': { tokens: 0, usd: 1 } },
    profile: { tokens: 0, usd: 0.5 },
  })
  for (let day = 0; day < 40; day++) {
    clock.advance(86_400_000)
    granted(ledger).settle({ usd: 0.25 })
  }
  const days = Object.keys(JSON.parse(text()).history)
  expect(days).toHaveLength(30)
  expect(days.at(-1)).toBe('2026-06-02')
  for (const odd of ['{}', '{"day":5}', '{"day":"2026-06-03"}', '{"day":"2026-06-03","by_peer":[]}']) {
    write(odd)
    expect(open().exhausted(), odd).toBeUndefined()
    expect(open().unusable, odd).toBeUndefined()
    expect(open().today().profile).toEqual({ usd: 0, tokens: 0 })
  }
})

test.each([
  ['', 'nothing'],
  ['{"by_peer":{},"day":"2026-04-23","profile":{"tok', 'half of it'],
  ['[]', 'something else'],
  ['{"day":"2026-04-23","profile":{"usd":"x","tokens":-1}}', 'no amount'],
])(
  'ALP-BUD-02 a ledger %j that holds %s is never overwritten: with a cap no turn is taken, without one it is set aside',
  text => {
    const place = ledgerOf(1)
    place.write(text)
    const told: string[] = []
    const ledger = place.open(undefined, what => void told.push(what))
    const error = { code: 'ledger_unavailable', message: expect.stringContaining(place.path) }
    for (let look = 0; look < 2; look++) expect(ledger.reserve('alice')).toMatchObject({ ok: false, error })
    expect(ledger.unusable?.message).toContain('move it away')
    expect(place.text()).toBe(text)
    expect(told).toHaveLength(1)
    // Whoever moves it away begins the day at zero; so does whoever has no cap.
    place.state.cap = undefined
    expect(ledger.unusable).toBeUndefined()
    granted(ledger).settle({ usd: 0.5 })
    expect(readFileSync(`${place.path}.damaged`, 'utf8')).toBe(text)
    expect(ledger.today().profile.usd).toBe(0.5)
    expect(told).toHaveLength(2)
  },
)

test('ALP-BUD-02 a turn that ends while the ledger is damaged stays set aside, and is booked when that is over', () => {
  const { ledger, write, path, text } = ledgerOf(5)
  const grant = granted(ledger)
  write('{')
  expect(() => grant.settle({ usd: 0.5 })).toThrow(/move it away/)
  expect(text()).toBe('{')
  rmSync(path)
  expect(ledger.today().reserved.size).toBe(1)
  expect(grant.settle({ usd: 0.5 })).toEqual({ usd: 0.5, tokens: 0 })
})

test('ALP-BUD-02 a ledger that the disk does not give may be sound: it is neither overwritten nor set aside, cap or not', () => {
  const { open, path, state, text } = ledgerOf(5)
  granted(open()).settle({ usd: 0.5 })
  const whole = text()
  const full: Disk = {
    ...machineDisk,
    read: () => {
      throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
    },
  }
  for (const cap of [5, undefined]) {
    state.cap = cap
    expect(open(full).reserve('alice')).toMatchObject({ ok: false, error: { code: 'ledger_unavailable' } })
    expect(text()).toBe(whole)
    expect(readdirSync(dirname(path))).toEqual(['ledger.json'])
  }
})

test('ALP-BUD-02 a ledger that the disk gives again is read again, although nothing of the file has changed', () => {
  const { open } = ledgerOf(5)
  granted(open()).settle({ usd: 0.5 })
  let fails = true
  const disk: Disk = {
    ...machineDisk,
    // Old enough that its bytes are not looked at while its times stay.
    stat: path => {
      const found = machineDisk.stat(path)
      return found && { ...found, settled: true }
    },
    read: (...asked) => {
      if (fails) throw Object.assign(new Error('i/o error'), { code: 'EIO' })
      return machineDisk.read(...asked)
    },
  }
  const ledger = open(disk)
  expect(ledger.unusable?.code).toBe('ledger_unavailable')
  fails = false
  expect(ledger.unusable).toBeUndefined()
  expect(ledger.today().profile.usd).toBe(0.5)
})

test('ALP-BUD-03 exhausted is at the cap, not before; the reset comes at midnight UTC', () => {
  const { ledger, clock } = ledgerOf(1, '2026-04-23T22:00:00Z')
  granted(ledger).settle({ usd: 0.999999 })
  expect(ledger.exhausted()).toBeUndefined()
  granted(ledger).settle({ usd: 3 })
  expect(ledger.exhausted()).toEqual({ cap: 1, used: 3.999999 })
  clock.advance(7_199_999)
  expect(ledger.exhausted()).toBeDefined()
  clock.advance(1)
  expect(ledger.exhausted()).toBeUndefined()
})

test('ALP-BUD-03 a turn that begins has its money set aside: turns at the same time cannot spend it twice', () => {
  const { ledger } = ledgerOf(2.5)
  const grants = [granted(ledger), granted(ledger), granted(ledger)]
  const aside = [...ledger.today().reserved.values()].map(({ usd }) => usd)
  expect(aside.toSorted()).toEqual([0.5, 1, 1])
  // What is set aside is no limit: that is what was left of the day.
  expect(grants.map(({ budget }) => budget.usd)).toEqual([2.5, 1.5, 0.5])
  expect(ledger.reserve('bob')).toEqual({ ok: false, error: { cap: 2.5, used: 2.5 } })
  // Nothing is spent yet: other calls, a cancel among them, are not refused.
  expect(grants[0]!.settle({ usd: 0.25 })).toEqual({ usd: 0.25, tokens: 0 })
  expect(ledger.exhausted()).toBeUndefined()
  // Once: what comes later changes nothing.
  expect(grants[0]!.settle({ usd: 5 })).toEqual({ usd: 0, tokens: 0 })
  expect(ledger.today().profile.usd).toBe(0.25)
})

test('ALP-BUD-03 what the caller wants to spend lowers what is set aside; without a cap only that bounds a turn', () => {
  const { ledger, state } = ledgerOf(5)
  expect(granted(ledger, 'a', { usd: 0.25, tokens: 100 }).budget).toEqual({ usd: 0.25, tokens: 100 })
  expect(granted(ledger, 'a', { usd: 50 }).budget).toEqual({ usd: 4.75 })
  state.cap = undefined
  expect(granted(ledger, 'a').budget).toEqual({})
  expect(granted(ledger, 'a', { usd: 50 }).budget).toEqual({ usd: 50 })
})

test('ALP-BUD-03 a turn of which nobody knows the cost is booked with all that was set aside', () => {
  const { ledger } = ledgerOf(5)
  expect(granted(ledger).settle()).toEqual({ usd: 1, tokens: 0 })
  expect(granted(ledger).settle({ tokensIn: 5 })).toEqual({ usd: 0, tokens: 5 })
  for (const usd of [Number.NaN, -5, Number.POSITIVE_INFINITY])
    expect(granted(ledger).settle({ usd })).toEqual({ usd: 0, tokens: 0 })
  expect(ledger.today().profile).toEqual({ usd: 1, tokens: 5 })
})

test('ALP-BUD-02 what was set aside before a crash counts after it, can be settled then, and is forgotten after a day', () => {
  const { ledger, open, clock, text } = ledgerOf(2)
  granted(ledger, 'alice')
  granted(ledger, 'bob')
  const next = open()
  expect(next.reserve('carol')).toEqual({ ok: false, error: { cap: 2, used: 2 } })
  const alice = next.orphans().find(({ name }) => name === 'alice')
  expect(alice?.settle({ usd: 0.5 })).toEqual({ usd: 0.5, tokens: 0 })
  expect(JSON.parse(text()).by_peer).toEqual({ alice: { tokens: 0, usd: 0.5 } })
  expect(granted(next).budget).toEqual({ usd: 0.5 })
  expect(next.orphans()).toHaveLength(2)
  clock.advance(86_400_000)
  expect(open().orphans()).toHaveLength(0)
})

test('ALP-BUD-02 a turn that runs over midnight is booked on the day on which it ends', () => {
  const { ledger, clock, text } = ledgerOf(1, '2026-04-23T23:59:59Z')
  const grant = granted(ledger)
  clock.advance(2000)
  expect(ledger.reserve('bob').ok).toBe(false)
  grant.settle({ usd: 0.5 })
  expect(JSON.parse(text())).toMatchObject({
    day: '2026-04-24',
    profile: { usd: 0.5 },
    history: { '2026-04-23': { usd: 0 } },
  })
})

test('ALP-ASK-03 what a turn cost is booked, once, although another program wrote the ledger meanwhile and left out what was set aside', () => {
  const { ledger, write, text } = ledgerOf(2)
  const [one, other] = [granted(ledger), granted(ledger, 'bob')]
  write('{"by_peer":{"carol":{"tokens":7,"usd":0.5}},"day":"2026-04-23","history":{},"profile":{"tokens":7,"usd":0.5}}')
  expect(ledger.reserve('dave')).toEqual({ ok: false, error: { cap: 2, used: 2.5 } })
  expect(one.settle({ usd: 0.25, tokensIn: 3 })).toEqual({ usd: 0.25, tokens: 3 })
  expect(one.settle({ usd: 0.25 })).toEqual({ usd: 0, tokens: 0 })
  expect(JSON.parse(text())).toMatchObject({
    by_peer: { carol: { tokens: 7, usd: 0.5 }, alice: { tokens: 3, usd: 0.25 } },
    profile: { tokens: 10, usd: 0.75 },
    reserved: { [other.id]: { peer: 'bob', usd: 1 } },
  })
  expect(other.settle()).toEqual({ usd: 1, tokens: 0 })
  expect(JSON.parse(text()).profile).toEqual({ tokens: 10, usd: 1.75 })
})

test.each(['Pacific/Kiritimati', 'Pacific/Pago_Pago'])(
  'ALP-BUD-02 the day is that of UTC, also where the machine keeps the time of %s',
  zone => {
    const before = process.env.TZ
    process.env.TZ = zone
    onTestFinished(() => {
      if (before === undefined) delete process.env.TZ
      else process.env.TZ = before
    })
    expect(Math.abs(new Date(0).getTimezoneOffset())).toBeGreaterThan(600)
    // On either side of midnight in UTC, and far from the midnight of the zone.
    const { ledger, clock, text } = ledgerOf(1, '2026-04-23T23:59:59Z')
    granted(ledger).settle({ usd: 1 })
    expect(JSON.parse(text()).day).toBe('2026-04-23')
    expect(ledger.exhausted()).toEqual({ cap: 1, used: 1 })
    clock.advance(1000)
    expect(ledger.exhausted()).toBeUndefined()
    granted(ledger).settle({ usd: 0.5 })
    expect(JSON.parse(text()).day).toBe('2026-04-24')
  },
)

test('ALP-BUD-02 the ledger is bounded: turns under way, names in a day', () => {
  const { ledger: crowded, write, open } = ledgerOf(undefined)
  for (let turn = 0; turn < limits.reservations; turn++) granted(crowded)
  expect(crowded.reserve('alice')).toMatchObject({ ok: false, error: { code: 'ledger_full', retryable: true } })
  const names = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`p${n}`, { tokens: 0, usd: 0 }]))
  write(JSON.stringify({ day: '2026-04-23', by_peer: names }))
  const ledger = open()
  granted(ledger, 'new').settle({ usd: 1 })
  granted(ledger, 'newer').settle({ usd: 1 })
  const { byPeer } = ledger.today()
  expect(byPeer.has('new') || byPeer.has('newer')).toBe(false)
  expect(byPeer.get('__others__')?.usd).toBe(2)
})

test('ALP-BUD-02 a crash at any step of setting aside or settling leaves a whole file that counts at least what was spent', () => {
  const done = (work: () => unknown): boolean => {
    try {
      work()
      return true
    } catch (thrown) {
      if (thrown instanceof Crash) return false
      throw thrown
    }
  }
  for (let step = 0, all = false; !all; step++) {
    const { open, text } = ledgerOf(10)
    granted(open(), 'before').settle({ usd: 1 })
    const disk = new CrashingDisk(step)
    let grant: Grant | undefined
    const reserved = done(() => {
      grant = granted(open(disk))
    })
    const settled = reserved && done(() => grant!.settle({ usd: 0.75 }))
    all = settled
    const { profile, reserved: left } = open().today()
    const counted = profile.usd + [...left.values()].reduce((sum, { usd }) => sum + usd, 0)
    expect(() => JSON.parse(text()), `step ${step}`).not.toThrow()
    if (!reserved) expect([1, 2], `step ${step}`).toContain(counted)
    else if (!settled) expect([2, 1.75], `step ${step}`).toContain(counted)
    else expect(counted).toBe(1.75)
    // And the next one works.
    granted(open()).settle({ usd: 1 })
    expect(open().today().profile.usd).toBeCloseTo(profile.usd + 1)
  }
})

test.each([1, 2, 3])(
  'ALP-BUD-02 a process that is killed while it spends (%i) has counted all that it told',
  async round => {
    const path = linkPaths(temporaryFolder()).ledger
    const script = join(import.meta.dirname, '..', 'testing', 'spender.ts')
    const child = spawn(process.execPath, ['--conditions=parley-source', script, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (text: string) => {
      said += text
      if (said.split('\n').length > 10 * round) child.kill('SIGKILL')
    })
    await once(child, 'close')
    const last = (word: string) => Number([...said.matchAll(new RegExp(`${word} (\\d+)\\n`, 'g'))].at(-1)?.[1] ?? 0)
    const { profile, reserved } = openLedger(path, { clock: new SystemClock(), cap: () => undefined }).today()
    expect(last('settled')).toBeGreaterThan(0)
    expect(profile.usd).toBeGreaterThanOrEqual(0.5 * last('settled'))
    expect(profile.usd + reserved.size).toBeGreaterThanOrEqual(
      0.5 * (last('settled') + (last('reserved') > last('settled') ? 1 : 0)),
    )
    expect(profile.usd).toBeLessThanOrEqual(0.5 * (last('reserved') + 1))
    expect(existsSync(path)).toBe(true)
    expect(readdirSync(dirname(path)).filter(name => !name.startsWith('ledger.json'))).toEqual([])
  },
)
