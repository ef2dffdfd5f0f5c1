#!/usr/bin/env node
// Verifies the trail of a profile from its files alone. Written from docs/trail-format.md and nothing else: it imports
// no code of Parley, so that a defect of the trail cannot hide in its own verifier. One file of plain JavaScript
// without dependencies, to be copied and read by itself; Node 20.15 or later, and for archives one with zstd.
import { createPublicKey, hash as digest, verify as ed25519 } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as zlib from 'node:zlib'

const USAGE =
  'usage: node scripts/verify-trail.mjs PROFILE_FOLDER [--json] [--key PUBLIC_KEY]… [--expect-head RUN:SEQ:HASH]…'
/** Findings that are listed of one run, or of the files; all are counted. */
const LISTED = 1000
const TORN_BYTES = 16 * 1024 * 1024 + 32

/** Ends the verification with exit code 2: nothing can be said about the trail. */
class Unusable extends Error {}

// --- Small readers

const sha256 = bytes => digest('sha256', bytes, 'hex')
const isHash = value => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
const isCount = value => Number.isSafeInteger(value) && value >= 0
const short = hash => (hash === null || hash === undefined ? 'null' : `${hash.slice(0, 12)}…`)

function list(folder) {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter(name => !name.endsWith('.tmp'))
        .sort()
    : []
}

function readIfThere(file) {
  try {
    return readFileSync(file)
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** A JSON object; undefined where the bytes are none. */
function parseJson(bytes) {
  try {
    const value = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** Undefined where the bytes are not sound zstd. A file may hold several zstd frames. */
function unpack(bytes) {
  if (typeof zlib.zstdDecompressSync !== 'function')
    throw new Unusable(
      `This trail has archives, which are compressed with zstd, and Node ${process.versions.node} has none. Use Node 22.15, 24 or later.`,
    )
  const parts = []
  try {
    for (let at = 0; at < bytes.length; ) {
      const { buffer, engine } = zlib.zstdDecompressSync(bytes.subarray(at), { info: true })
      parts.push(buffer)
      if (!(engine.bytesWritten > 0)) return undefined
      at += engine.bytesWritten
    }
  } catch {
    return undefined
  }
  return Buffer.concat(parts)
}

/** RFC 8785. JSON.stringify writes texts and numbers in its form; what it lacks is the order of keys. */
function canonical(value) {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const keys = Object.keys(value).sort()
  return `{${keys.map(key => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`
}

/** A run's id as a name of a file, and back. */
const fileName = run => encodeURIComponent(run).replaceAll('.', '%2E').replaceAll('*', '%2A')

// --- Findings

class Findings {
  #listed = []
  count = 0

  add(finding) {
    this.count++
    if (this.#listed.length < LISTED) this.#listed.push(finding)
  }

  /** Takes back that something before `seq` is missing. */
  drop(seq) {
    const at = this.#listed.findIndex(each => each.seq === seq && each.damage === 'missing')
    if (at < 0) return
    this.#listed.splice(at, 1)
    this.count--
  }

  list() {
    return this.#listed.toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
  }
}

// --- Keys

const keyObjects = new Map()

/** Undefined for a text that names no key. */
function keyObject(text) {
  if (keyObjects.has(text)) return keyObjects.get(text)
  const raw = Buffer.from(text, 'base64')
  const named = raw.length === 32 && raw.toString('base64') === text
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }
  const made = named ? createPublicKey({ key: jwk, format: 'jwk' }) : undefined
  keyObjects.set(text, made)
  return made
}

function signed(key, hash, signature) {
  const object = keyObject(key)
  const bytes = Buffer.from(signature, 'hex')
  return object !== undefined && bytes.length === 64 && ed25519(null, Buffer.from(hash, 'hex'), object, bytes)
}

function endorsementHolds({ key, endorsement }) {
  const { from, to, at, until, signature, countersignature } = endorsement
  if (to !== key || from === to) return false
  const hash = sha256(canonical({ format: 'parley-key-rotation/1', from, to, at, until }))
  return signed(from, hash, signature) && signed(to, hash, countersignature)
}

function isKeyList(keys) {
  const isTime = value => typeof value === 'string' && value.length === 27
  const isText = (value, length) => typeof value === 'string' && value.length === length
  return (
    Array.isArray(keys) &&
    keys.every(
      ({ key, until, endorsement: e }) =>
        isText(key, 44) &&
        (until === null || isTime(until)) &&
        (e === undefined ||
          (isText(e.from, 44) &&
            isText(e.to, 44) &&
            isTime(e.at) &&
            isTime(e.until) &&
            isText(e.signature, 128) &&
            isText(e.countersignature, 128))),
    )
  )
}

/** Each key with its end and its place in the order of replaced keys. `pinned`: believe only what these lead to. */
function trustOf(keys, pinned, findings, where) {
  for (const each of keys)
    if (each.endorsement && !endorsementHolds(each))
      findings.add({
        damage: 'signature',
        file: where,
        message: `the endorsement of the key ${each.key} does not hold`,
      })
  const believed = new Set(pinned.length > 0 ? pinned : keys.map(({ key }) => key))
  const links = keys.filter(each => each.endorsement && endorsementHolds(each)).map(each => each.endorsement)
  for (const key of believed) {
    for (const { from, to } of links) {
      if (from === key) believed.add(to)
      if (to === key) believed.add(from)
    }
  }
  const trust = new Map()
  let replaced = 0
  for (const { key, until } of keys) {
    const ends = [
      until,
      ...keys.filter(({ endorsement }) => endorsement?.from === key).map(each => each.endorsement.until),
    ]
    const end = ends.filter(each => each !== null).sort()[0]
    trust.set(key, {
      end,
      place: end === undefined ? Number.POSITIVE_INFINITY : replaced++,
      believed: believed.has(key),
    })
  }
  for (const key of believed)
    if (!trust.has(key)) trust.set(key, { end: undefined, place: Number.POSITIVE_INFINITY, believed: true })
  return trust
}

// --- Records

/** The record at `at`, or undefined where none fits below `limit`. */
function recordAt(bytes, at, limit) {
  if (at + 12 > limit) return undefined
  const kind = bytes[at]
  const [runLength, second, third] = [bytes[at + 1], bytes[at + 2], bytes[at + 3]]
  const length = bytes.readUInt32LE(at + 4)
  const seq = bytes.readUInt32LE(at + 8)
  const middle = at + 12 + runLength
  const extra = { 1: 32 + (second === 0 ? 0 : 64 + second), 2: second + third, 3: second + third, 4: 0 }[kind]
  if (extra === undefined) return undefined
  const payload = middle + extra
  const end = payload + length
  if (end > limit) return undefined
  const base = {
    kind,
    end,
    seq,
    run: bytes.toString('latin1', at + 12, middle),
    bytes: bytes.subarray(at, end),
  }
  if (kind === 4) return base
  if (kind !== 1) {
    const id = bytes.toString('latin1', middle, middle + second)
    return { ...base, id, blob: kind === 3 ? bytes.toString('latin1', payload, end) : undefined }
  }
  const signature = second === 0 ? undefined : bytes.toString('hex', middle + 32, middle + 96)
  const signer = second === 0 ? undefined : bytes.toString('latin1', middle + 96, payload)
  return {
    ...base,
    hash: bytes.toString('hex', middle, middle + 32),
    signature,
    signer,
    view: bytes.subarray(payload, end),
  }
}

const VIEW_KEYS = 'actor,body,event_type,id,integrity,prev_hash,timestamp,workspace'

/** What a view says; undefined where it has not the form of one. */
function parseView(bytes) {
  const view = parseJson(bytes)
  if (!view || Object.keys(view).join() !== VIEW_KEYS) return undefined
  const { integrity, prev_hash, timestamp, workspace } = view
  const parts = workspace === null ? 'algorithm' : 'algorithm,local_hash'
  if (integrity?.algorithm !== 'sha-256' || Object.keys(integrity).join() !== parts) return undefined
  if (workspace !== null && (typeof workspace !== 'string' || !isHash(integrity.local_hash))) return undefined
  if (prev_hash !== null && !isHash(prev_hash)) return undefined
  return typeof timestamp === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(timestamp) ? view : undefined
}

/** The canonical text of a view; that of its body is made once for the global and the local one. */
function viewText({ actor, event_type, id, timestamp, workspace }, body, integrity, prev) {
  const start = `{"actor":${canonical(actor)},"body":${body},"event_type":${canonical(event_type)},"id":${canonical(id)}`
  return `${start},"integrity":${canonical(integrity)},"prev_hash":${canonical(prev)},"timestamp":"${timestamp}","workspace":${canonical(workspace)}}`
}

// --- One run

class RunCheck {
  findings = new Findings()
  entries = 0
  first = undefined
  seq = 0
  hash = null
  signers = new Set()
  unsigned = 0
  /** Entries of which only the hash is left: deleted after their retention, or in an archive that cannot be read. */
  bridged = 0
  unreadable = 0
  /** From `trail_compacted` and `trail_snapshot_created`: what may have been deleted. */
  compacted = new Set()
  snapshots = new Map()
  /** Archived entries by `seq`: records, and bridges for those that were deleted; objects by id. */
  archived = new Map()
  objects = new Map()
  #order = undefined
  #next = 0
  #hashes = []
  #heads = new Map()
  #locals = new Map()
  #times = new Map()
  #gaps = []
  #signed
  #place = 0

  constructor(run, { trust, imported }) {
    this.run = run
    this.trust = trust
    this.imported = imported
    this.#signed = imported
  }

  knows({ seq, hash }, from) {
    const known = this.#heads.get(seq) ?? []
    known.push({ hash, from })
    this.#heads.set(seq, known)
  }

  report(seq, damage, message, id) {
    const entry = id === undefined ? {} : { entry: id }
    this.findings.add({ seq, ...entry, damage, message })
  }

  /** The next entry of the log. */
  fromLog(entry) {
    this.#archivedUpTo(entry.seq)
    const held = this.archived.get(entry.seq)
    if (!held) this.#entry(entry)
    else if (held.bytes ? !held.bytes.equals(entry.bytes) : held.hash !== entry.hash)
      this.report(
        entry.seq,
        'forked',
        `a second entry ${entry.seq} is in the log, and is not that of archive ${held.archive}`,
      )
  }

  #archivedUpTo(seq) {
    this.#order ??= [...this.archived.keys()].sort((a, b) => a - b)
    for (; this.#next < this.#order.length && this.#order[this.#next] <= seq; this.#next++) {
      const held = this.archived.get(this.#order[this.#next])
      if (held.view) this.#entry(held)
      else this.#bridge(held)
    }
  }

  #bridge({ seq, hash, workspace, local_hash, timestamp, deleted }) {
    if (deleted) this.bridged++
    else this.unreadable++
    const wrong = this.#position(seq, null, hash) ?? this.#headAt(seq, hash)
    if (wrong) this.report(seq, ...wrong)
    this.#advance(seq, hash, workspace, local_hash, timestamp)
  }

  #entry(entry) {
    const { seq, hash } = entry
    const view = parseView(entry.view)
    if (entry.signer === undefined) this.unsigned++
    else this.signers.add(entry.signer)
    if (this.first === undefined && entry.signature !== undefined) this.#signed = true
    const wrong =
      this.#position(seq, view, hash) ??
      this.#content(entry, view) ??
      this.#signature(entry, view) ??
      this.#headAt(seq, hash) ??
      this.#time(view)
    if (wrong) this.report(seq, ...wrong, view?.id)
    else this.#note(view)
    this.#advance(seq, hash, view?.workspace, view?.integrity.local_hash, view?.timestamp)
  }

  /** Position and link. Without a view only the position can be told. */
  #position(seq, view, hash) {
    if (seq === this.seq + 1) {
      if (!view || view.prev_hash === this.hash) return undefined
      return [
        'spliced',
        `entry ${seq} does not follow entry ${this.seq}: it names ${short(view.prev_hash)}, that one is ${short(this.hash)}`,
      ]
    }
    if (seq > this.seq) {
      const what =
        seq === this.seq + 2 ? `entry ${seq - 1} is missing` : `entries ${this.seq + 1} to ${seq - 1} are missing`
      this.#gaps.push({ at: seq, from: this.seq + 1, to: seq - 1, left: seq - 1 - this.seq })
      return ['missing', what]
    }
    const there = this.#hashes[seq]
    if (there !== undefined && there !== hash)
      return ['forked', `entry ${seq} is there twice: ${short(there)} and ${short(hash)}`]
    const gap = this.#gaps.find(({ from, to }) => from <= seq && seq <= to)
    // Not missing after all.
    if (there === undefined && gap && --gap.left === 0) this.findings.drop(gap.at)
    this.#hashes[seq] = hash
    return ['reordered', `entry ${seq} stands ${there === undefined ? '' : 'again '}behind entry ${this.seq}`]
  }

  #content({ seq, hash, view: bytes }, view) {
    const computed = sha256(bytes)
    if (computed !== hash)
      return ['edited', `entry ${seq} does not match its hash: ${short(hash)} is stored, ${short(computed)} computed`]
    if (!view) return ['edited', `entry ${seq} does not have the form of an entry`]
    const body = canonical(view.body)
    if (!bytes.equals(Buffer.from(viewText(view, body, view.integrity, view.prev_hash))))
      return ['edited', `entry ${seq} is not in canonical form`]
    if (view.workspace === null) return undefined
    const local = sha256(viewText(view, body, { algorithm: 'sha-256' }, this.#locals.get(view.workspace) ?? null))
    if (local === view.integrity.local_hash) return undefined
    return ['edited', `entry ${seq} does not match the local chain of ${view.workspace}`]
  }

  #signature({ seq, hash, signature, signer }, { timestamp }) {
    if (signer === undefined)
      return this.#signed ? ['signature', `entry ${seq} is not signed, though its run is`] : undefined
    const key = this.trust?.get(signer)
    if (this.trust && !key?.believed)
      return ['signature', `entry ${seq} is signed by ${signer}, which is not a key of this trail`]
    if (!signed(signer, hash, signature)) return ['signature', `the signature of entry ${seq} does not fit`]
    if (!key) return undefined
    if (key.end !== undefined && timestamp > key.end)
      return ['signature', `entry ${seq} of ${timestamp} is signed by a key that was replaced at ${key.end}`]
    if (key.place < this.#place)
      return ['signature', `entry ${seq} is signed by a former key, behind an entry of a later one`]
    this.#place = key.place
    return undefined
  }

  #headAt(seq, hash) {
    const known = this.#heads.get(seq)?.find(each => each.hash !== hash)
    return known && ['rolled_back', `entry ${seq} is ${short(hash)}; ${known.from} knows ${short(known.hash)} there`]
  }

  #time({ workspace, timestamp }) {
    const before = this.#times.get(workspace)
    if (before === undefined || timestamp > before) return undefined
    const where = workspace === null ? 'system-level entries' : workspace
    return ['time', `the timestamp ${timestamp} is not later than the one before it in ${where}, ${before}`]
  }

  #note({ event_type, body }) {
    if (event_type === 'trail_compacted') this.compacted.add(body.archive_hash)
    if (event_type === 'trail_snapshot_created') this.snapshots.set(body.snapshot_id, body)
  }

  #advance(seq, hash, workspace, local, time) {
    this.entries++
    this.first = Math.min(this.first ?? seq, seq)
    // What stands at a wrong place does not change where the chains are.
    if (seq <= this.seq) return
    this.seq = seq
    this.hash = hash
    this.#hashes[seq] = hash
    if (workspace === undefined) return
    if (workspace !== null) this.#locals.set(workspace, local)
    this.#times.set(workspace, time)
  }

  finish() {
    this.#archivedUpTo(Number.POSITIVE_INFINITY)
    const newest = Math.max(0, ...this.#heads.keys())
    if (newest <= this.seq) return
    const { from } = this.#heads.get(newest)[0]
    this.report(this.seq + 1, 'truncated', `the run ends at ${this.seq}, but ${from} knows entry ${newest}`)
  }

  summary() {
    const { run, entries, first = null, seq, hash, bridged, unreadable, unsigned } = this
    const head = hash === null ? null : { seq, hash }
    const signers = [...this.signers]
    const findings = this.findings.list()
    const { count } = this.findings
    return { run, entries, first, head, signers, unsigned, bridged, unreadable, count, findings }
  }
}

// --- The log

const FRAME_MARK = Buffer.from('PLF1')
const sound = (bytes, from, end, crcAt) => bytes.readUInt32LE(crcAt) === zlib.crc32(bytes.subarray(from, end))

function segmentHeader(bytes, number) {
  if (bytes.length < 64 || bytes.toString('latin1', 0, 4) !== 'PLS1' || !sound(bytes, 0, 60, 60)) return undefined
  const version = bytes.readUInt32LE(4)
  if (version !== 1) throw new Unusable(`Segment ${number} has format ${version}; this verifier reads format 1.`)
  if (bytes.readUInt32LE(8) !== number) return undefined
  return {
    previousEnd: bytes.readUInt32LE(12),
    firstFrame: bytes.readDoubleLE(16),
    trail: bytes.toString('hex', 32, 48),
    previous: bytes.readUInt32LE(48),
  }
}

function frameAt(bytes, at, limit) {
  if (at + 32 > limit || bytes.compare(FRAME_MARK, 0, 4, at, at + 4) !== 0) return undefined
  const end = at + 32 + bytes.readUInt32LE(at + 8)
  if (end > limit || !sound(bytes, at + 8, end, at + 4)) return undefined
  return { at, end, count: bytes.readUInt32LE(at + 12), number: Number(bytes.readBigUInt64LE(at + 16)) }
}

/** Sound frames and the gaps between them; zeros at the end are free room. */
function* framesOf(bytes, limit) {
  for (let at = 64; at < limit; ) {
    const frame = frameAt(bytes, at, limit)
    if (frame) {
      yield frame
      at = frame.end
      continue
    }
    let next = bytes.indexOf(FRAME_MARK, at + 1)
    while (next >= 0 && !frameAt(bytes, next, limit)) next = bytes.indexOf(FRAME_MARK, next + 1)
    const last = next < 0 || next >= limit
    let end = last ? limit : next
    while (last && end > at && bytes[end - 1] === 0) end--
    if (end > at || !last) yield { gap: true, at, end, last }
    if (last) return
    at = next
  }
}

/** One torn frame, which a crash leaves: nothing that was begun behind it. */
function isTorn(bytes, { at, end }, lastFrame) {
  if (end - at > TORN_BYTES) return false
  for (
    let mark = bytes.indexOf(FRAME_MARK, at + 1);
    mark >= 0 && mark + 32 <= end;
    mark = bytes.indexOf(FRAME_MARK, mark + 1)
  ) {
    const number = Number(bytes.readBigUInt64LE(mark + 16))
    if (number > lastFrame + 1 && number <= lastFrame + 1 + (end - at)) return false
  }
  return true
}

/** Reads all segments in order and hands out their records. Returns the number of the last frame. */
function readLog(folder, report, record) {
  const found = list(folder).filter(name => /^\d{8}\.seg$/.test(name))
  const segments = []
  for (const name of found) {
    const number = Number(name.slice(0, 8))
    const bytes = readFileSync(join(folder, name))
    const header = segmentHeader(bytes, number)
    if (!header && ![...framesOf(bytes, bytes.length)].some(each => !each.gap)) continue
    if (!header) report('unreadable', name, 'the header is damaged; its frames are read all the same')
    if (header && segments.some(each => each.header && each.header.trail !== header.trail)) {
      report('spliced', name, 'the segment belongs to another trail')
      continue
    }
    segments.push({ name, number, header })
  }
  let last
  dropGivenUp(segments)
  for (const [index, { name, number, header }] of segments.entries()) {
    const successor = segments.find(each => each.header?.previous === number)?.header
    const isLast = index === segments.length - 1
    last = readSegment({ folder, name, number, header, successor, isLast, last }, report, record)
  }
  return last?.frame ?? 0
}

/**
 * A segment that the next one leaves out, because that goes on from an earlier one, was given up: nothing in it was
 * acknowledged.
 */
function dropGivenUp(segments) {
  for (let index = segments.length - 2; index >= 0; index--) {
    const next = segments[index + 1].header
    if (next && next.previous < segments[index].number) segments.splice(index, 1)
  }
}

function readSegment({ folder, name, number, header, successor, isLast, last }, report, record) {
  const bytes = readFileSync(join(folder, name))
  const limit = Math.min(bytes.length, successor?.previousEnd ?? bytes.length)
  if (header && last && header.firstFrame <= last.frame)
    report('reordered', name, `it begins with frame ${header.firstFrame} behind frame ${last.frame}`)
  const follows = header && last && header.previous === last.number && !last.broken
  if (follows && header.firstFrame > last.frame + 1)
    report('missing', name, `it begins with frame ${header.firstFrame}, and not behind frame ${last.frame}`)
  let expected = header?.firstFrame
  let frame = (header?.firstFrame ?? 1) - 1
  let end = 64
  let broken = false
  for (const each of framesOf(bytes, limit)) {
    broken = each.gap === true
    if (broken) {
      if (isLast && each.last && isTorn(bytes, each, frame)) {
        report(undefined, name, `bytes ${each.at} to ${each.end} are a commit that was torn; it does not count`)
        continue
      }
      report('unreadable', name, `bytes ${each.at} to ${each.end} are no sound frame`)
      expected = undefined
      end = each.end
      continue
    }
    if (expected !== undefined && each.number !== expected)
      report(
        each.number > expected ? 'missing' : 'reordered',
        name,
        `frame ${each.number} stands where frame ${expected} belongs`,
      )
    frame = each.number
    expected = frame + 1
    end = each.end
    readFrame(bytes, each, name, report, record)
  }
  if (successor && end < successor.previousEnd && !broken)
    report('unreadable', name, `the frames end at byte ${end}, but ${successor.previousEnd} bytes count`)
  return { number, frame, broken }
}

function readFrame(bytes, { at, end, count, number }, name, report, record) {
  let next = at + 32
  for (let index = 0; index < count; index++) {
    const each = recordAt(bytes, next, end)
    if (!each) return report('unreadable', name, `record ${index + 1} of frame ${number} cannot be read`)
    next = each.end
    if (each.kind !== 4) record(each)
  }
  if (next !== end) report('unreadable', name, `${end - next} bytes stand behind the records of frame ${number}`)
}

// --- Archives

/** Every archive that counts: number, run, and the path of its files without endings. Cold comes before warm. */
function findArchives(trail, imported) {
  const places = new Map()
  const add = (folder, prefix, run) => {
    for (const name of list(folder)) {
      const [, number] = name.startsWith(prefix) ? (/^(\d+)\.json(\.zst)?$/.exec(name.slice(prefix.length)) ?? []) : []
      if (number !== undefined)
        places.set(Number(number), { number: Number(number), run, path: join(folder, prefix + number) })
    }
  }
  for (const run of imported) add(join(trail, 'imports'), `${fileName(run)}.`, run)
  for (const tier of ['runs', 'cold'])
    for (const name of list(join(trail, tier)))
      if (!name.includes('.')) add(join(trail, tier, name), '', decodeURIComponent(name))
  return [...places.values()].sort((a, b) => a.number - b.number)
}

function readManifest(path) {
  const packed = readIfThere(`${path}.json.zst`)
  const bytes = (packed && unpack(packed)) ?? readIfThere(`${path}.json`)
  const manifest = bytes && parseJson(bytes)
  if (manifest?.version === 1)
    return {
      ...manifest,
      kind: 'workspace',
      sha256: null,
      head: null,
      objects: [],
      entries: manifest.entries.map(each => ({ ...each, workspace: manifest.workspace })),
    }
  return manifest?.version === 2 && Array.isArray(manifest.entries) && Array.isArray(manifest.objects)
    ? manifest
    : undefined
}

/** Takes what an archive holds into its run. Returns what was deleted, for the check whether it might be. */
function readArchive({ number, run: name, path }, runOf, report) {
  const manifest = readManifest(path)
  const run = runOf(name)
  const file = `archive ${number} of ${name}`
  if (!manifest || manifest.run !== name || manifest.archive !== number) {
    run.report(run.archived.size + 1, 'unreadable', `the manifest of archive ${number} cannot be read`)
    return undefined
  }
  const { entries, objects, head } = manifest
  if (sha256(canonical(entries.map(each => each.local_hash ?? each.hash))) !== manifest.archive_hash)
    report('edited', file, 'the manifest does not match its own hash')
  if (head && isCount(head.seq) && isHash(head.hash)) run.knows(head, `archive ${number}`)
  const packed = readIfThere(`${path}.zst`)
  const gone = manifest.deleted && !packed
  const bytes = packed && unpack(packed)
  if (packed && manifest.sha256 !== null && sha256(packed) !== manifest.sha256)
    report('edited', file, 'the compressed records do not have the SHA-256 that the manifest names')
  if (!gone && (!bytes || bytes.length !== manifest.bytes))
    run.report(entries[0]?.seq ?? 1, 'unreadable', `archive ${number} ${packed ? 'cannot be read' : 'is not there'}`)
  for (const listed of entries) {
    const held = bytes && recordAt(bytes, listed.at, bytes.length)
    const fits = held?.kind === 1 && held.run === name && held.seq === listed.seq && held.hash === listed.hash
    if (bytes && !fits)
      run.report(
        listed.seq,
        'unreadable',
        `archive ${number} does not hold entry ${listed.seq} as its manifest lists it`,
      )
    keep(run, fits ? held : { ...listed, deleted: gone }, number)
  }
  for (const listed of objects) {
    const held = bytes && recordAt(bytes, listed.at, bytes.length)
    const fits = (held?.kind === 2 || held?.kind === 3) && held.run === name && held.id === listed.id
    if (fits) run.objects.set(held.id, held)
    else if (bytes) report('unreadable', file, `it does not hold the object ${listed.id} as its manifest lists it`)
  }
  return gone ? { ...manifest, file } : undefined
}

/** Several archives that hold an entry must agree; what is there says more than what is only listed. */
function keep(run, entry, archive) {
  const before = run.archived.get(entry.seq)
  const same = !before || before.hash === entry.hash
  if (!same || (before?.bytes && entry.bytes && !before.bytes.equals(entry.bytes)))
    run.report(entry.seq, 'forked', `archives ${before.archive} and ${archive} hold different entries ${entry.seq}`)
  if (!before?.bytes || entry.bytes) run.archived.set(entry.seq, { ...entry, archive })
}

/** What was deleted must be covered by an entry that stays. */
function checkDeleted(run, manifests, report) {
  const upTo = Math.max(0, ...[...run.snapshots.values()].map(each => each.up_to))
  const runGone = manifests.some(({ kind }) => kind === 'run')
  for (const { kind, archive_hash, entries, file } of manifests) {
    const covered = kind === 'run' ? upTo >= (entries.at(-1)?.seq ?? 0) : run.compacted.has(archive_hash) || runGone
    if (!covered) report('missing', file, 'its entries were deleted, and no entry that stays says that they might be')
  }
}

// --- What stands beside the records

function readImports(trail, report) {
  const done = new Map()
  for (const name of list(join(trail, 'imports')).filter(each => each.endsWith('.json'))) {
    const file = `imports/${name}`
    const record = parseJson(readFileSync(join(trail, file)))
    if (
      !record ||
      `${fileName(record.run ?? '')}.json` !== name ||
      !isKeyList(record.keys) ||
      !isHash(record.head?.hash)
    )
      report('unreadable', file, 'it cannot be read; the run would pass for one of this profile')
    else if (record.state === 'done') done.set(record.run, record)
  }
  return done
}

function readKeys(trail, report) {
  const bytes = readIfThere(join(trail, 'keys.json'))
  if (!bytes) return undefined
  const parsed = parseJson(bytes)
  const plain = Array.isArray(parsed) && parsed.every(each => typeof each === 'string')
  const keys = plain ? parsed.map(key => ({ key, since: null, until: null })) : parsed?.keys
  if (isKeyList(keys)) return keys
  report('unreadable', 'keys.json', 'it cannot be read, so that no signature can be trusted')
  return []
}

/** Heads that files beside the log know; returns the number of the last frame that one of them knows. */
function readHeads(trail, runOf, report) {
  let frame = 0
  const isHead = each => typeof each?.run === 'string' && isCount(each.seq) && isHash(each.hash)
  for (const name of list(join(trail, 'heads')).filter(each => each.endsWith('.json'))) {
    const file = parseJson(readFileSync(join(trail, 'heads', name)))
    if (!isCount(file?.frame) || !Array.isArray(file.heads) || !file.heads.every(isHead)) {
      report('unreadable', `heads/${name}`, 'it cannot be read')
      continue
    }
    frame = Math.max(frame, file.frame)
    for (const head of file.heads) runOf(head.run).knows(head, `heads/${name}`)
  }
  for (const folder of list(join(trail, 'cold')).filter(each => !each.includes('.'))) {
    const bytes = readIfThere(join(trail, 'cold', folder, 'run.json'))
    const mark = bytes && parseJson(bytes)
    if (isHead(mark)) runOf(mark.run).knows(mark, `cold/${folder}/run.json`)
    else if (bytes) report('unreadable', `cold/${folder}/run.json`, 'it cannot be read')
  }
  return frame
}

function checkSnapshots(trail, runs, report) {
  for (const run of runs.filter(each => !each.imported)) {
    for (const { snapshot_id, entry_count, head_hash } of run.snapshots.values()) {
      const file = `snapshots/${fileName(snapshot_id)}.zst`
      const packed = readIfThere(join(trail, file))
      const lines = packed && unpack(packed)?.toString('utf8').trimEnd().split('\n').map(parseJson)
      if (!packed) report('missing', file, `${run.run} tells of this snapshot`)
      else if (!lines?.every(line => typeof line?.view === 'string' && sha256(line.view) === line.hash))
        report('edited', file, 'a line does not match its hash')
      else if (lines.length !== entry_count || lines.at(-1).hash !== head_hash)
        report('truncated', file, `it does not end as ${run.run} tells`)
    }
  }
}

/** Every blob has its own SHA-256 as its name, and every one that is referred to is there. */
function checkBlobs(profile, referred, report) {
  const there = new Set()
  for (const folder of ['blobs', 'trail/cold/blobs.d'])
    for (const part of list(join(profile, folder)))
      for (const name of list(join(profile, folder, part))) {
        const file = `${folder}/${part}/${name}`
        if (isHash(name) && sha256(readFileSync(join(profile, file))) !== name)
          report('edited', file, 'the blob does not match its name')
        else there.add(name)
      }
  for (const [blob, { run, id }] of referred)
    if (!there.has(blob))
      report('missing', `blobs/${blob.slice(0, 2)}/${blob}`, `the object ${id} of ${run} refers to this blob`)
}

/** The process that has the trail open. Where the system lists no locks: the one that opened it last, if alive. */
function writerOf(trail) {
  const locks = readIfThere('/proc/locks')?.toString('latin1')
  if (locks !== undefined && existsSync(join(trail, 'lock'))) {
    const { ino } = statSync(join(trail, 'lock'))
    return new RegExp(`WRITE +(\\d+) [0-9a-f]+:[0-9a-f]+:${ino} `).exec(locks)?.[1]
  }
  const pid = Number(readIfThere(join(trail, 'owner'))?.toString('latin1') || 0)
  try {
    return pid > 0 && process.kill(pid, 0) ? pid : undefined
  } catch (error) {
    return error.code === 'EPERM' ? pid : undefined
  }
}

// --- The whole

function verifyProfile(profile, { pinned, heads }) {
  const trail = join(profile, 'trail')
  if (!existsSync(trail) || !statSync(trail).isDirectory())
    throw new Unusable(`${profile} is not a profile: it has no folder 'trail'.`)
  const files = new Findings()
  const notes = []
  const report = (damage, file, message) =>
    damage ? files.add({ damage, file, message }) : notes.push(`${file}: ${message}`)
  const writer = writerOf(trail)
  if (writer !== undefined)
    notes.push(
      `process ${writer} may be writing: this is a reading of a moment, and what moves meanwhile can look like damage`,
    )
  const keys = readKeys(trail, report)
  const own = keys || pinned.length > 0 ? trustOf(keys ?? [], pinned, files, 'keys.json') : undefined
  for (const [index, { key, endorsement }] of (keys ?? []).entries())
    if (index > 0 && !endorsement)
      notes.push(`keys.json: nobody endorsed the key ${key}; it was put into the profile by hand`)
  const imports = readImports(trail, report)
  const runs = new Map()
  const runOf = id => {
    const known = runs.get(id)
    if (known) return known
    const imported = imports.get(id)
    const trust = imported ? trustOf(imported.keys, pinned, files, `imports/${fileName(id)}.json`) : own
    const made = new RunCheck(id, { trust, imported: imported !== undefined })
    if (imported) made.knows(imported.head, `imports/${fileName(id)}.json`)
    runs.set(id, made)
    return made
  }
  for (const id of imports.keys()) runOf(id)
  for (const head of heads) runOf(head.run).knows(head, '--expect-head')
  const knownFrame = readHeads(trail, runOf, report)
  const deleted = new Map()
  for (const archive of findArchives(trail, imports.keys())) {
    const gone = readArchive(archive, runOf, report)
    if (gone) deleted.set(archive.run, [...(deleted.get(archive.run) ?? []), gone])
  }
  const referred = new Map()
  for (const run of runs.values()) for (const each of run.objects.values()) if (each.blob) referred.set(each.blob, each)
  const lastFrame = readLog(trail, report, record => {
    const run = runOf(record.run)
    if (record.kind === 1) return run.fromLog(record)
    if (record.blob) referred.set(record.blob, record)
    const held = run.objects.get(record.id)
    if (held && !held.bytes.equals(record.bytes))
      report('edited', `object ${record.id} of ${record.run}`, 'log and archive hold different ones')
    return undefined
  })
  if (lastFrame < knownFrame)
    report('truncated', 'log', `it ends with frame ${lastFrame}, but heads/ knows frame ${knownFrame}`)
  const all = [...runs.values()].sort((a, b) => (a.run < b.run ? -1 : 1))
  for (const run of all) run.finish()
  for (const [id, manifests] of deleted) if (!imports.has(id)) checkDeleted(runs.get(id), manifests, report)
  if (!own && all.some(({ signers, imported }) => signers.size > 0 && !imported))
    report('signature', 'keys.json', 'entries are signed, but the list of keys is gone: nobody knows by whom')
  checkSnapshots(trail, all, report)
  checkBlobs(profile, referred, report)
  return {
    runs: all.map(run => run.summary()),
    findings: files.list(),
    count: files.count,
    notes,
    pinned: pinned.length > 0,
  }
}

function print({ runs, findings, count, notes, pinned }) {
  for (const { run, entries, head, signers, unsigned, bridged, unreadable, findings, count } of runs) {
    const by = signers.map(key => `${key.slice(0, 12)}…`).join(', ')
    const who = signers.length === 0 ? 'not signed' : `signed by ${by}${unsigned > 0 ? `, ${unsigned} not signed` : ''}`
    const lacks = [
      ...(bridged > 0 ? [`${bridged} deleted after their retention`] : []),
      ...(unreadable > 0 ? [`${unreadable} unreadable`] : []),
    ]
    const gone = lacks.length > 0 ? ` (${lacks.join(', ')})` : ''
    console.log(`${run}  ${entries} entries${gone}, head ${head ? `${head.seq} ${head.hash}` : 'none'}, ${who}`)
    if (findings[0])
      console.log(`  ${findings[0].damage}: ${findings[0].message}${count > 1 ? ` (and ${count - 1} more)` : ''}`)
  }
  for (const { damage, file, message } of findings) console.log(`${damage}: ${file}: ${message}`)
  for (const note of notes) console.log(`note: ${note}`)
  const entries = runs.reduce((sum, run) => sum + run.entries, 0)
  const bad = runs.reduce((sum, run) => sum + run.count, count)
  const whose = pinned ? '' : ' Who signed is told by the files themselves; give a key that you know with --key.'
  if (bad === 0) console.log(`Sound: ${entries} entries in ${runs.length} runs.${whose}`)
  else
    console.log(
      `NOT SOUND: ${bad} findings, in ${runs.filter(run => run.count > 0).length} of ${runs.length} runs and ${count} beside them.`,
    )
}

function parseArguments(args) {
  const options = { json: false, pinned: [], heads: [] }
  let profile
  for (let index = 0; index < args.length; index++) {
    const argument = args[index]
    if (argument === '--json') options.json = true
    else if (argument === '--key') {
      const key = args[++index] ?? ''
      if (!keyObject(key))
        throw new Unusable(`${JSON.stringify(key)} is not a public key: 44 characters of base64.\n${USAGE}`)
      options.pinned.push(key)
    } else if (argument === '--expect-head') {
      const [, run, seq, hash] = /^(.+):(\d+):([0-9a-f]{64})$/.exec(args[++index] ?? '') ?? []
      if (!run) throw new Unusable(`A head is RUN:SEQ:HASH, as 'parley trail heads' prints it.\n${USAGE}`)
      options.heads.push({ run, seq: Number(seq), hash })
    } else if (argument.startsWith('-') || profile !== undefined) throw new Unusable(USAGE)
    else profile = argument
  }
  if (profile === undefined) throw new Unusable(USAGE)
  return { profile, ...options }
}

try {
  const { profile, json, ...options } = parseArguments(process.argv.slice(2))
  const report = verifyProfile(profile, options)
  if (json) console.log(JSON.stringify(report))
  else print(report)
  process.exitCode = report.count + report.runs.reduce((sum, run) => sum + run.count, 0) > 0 ? 1 : 0
} catch (error) {
  const known = error instanceof Unusable || typeof error.code === 'string'
  console.error(known ? error.message : error.stack)
  process.exitCode = 2
}
