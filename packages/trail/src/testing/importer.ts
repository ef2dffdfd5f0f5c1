// A process that imports a run and says so when it is done.
//   node importer.ts PROFILE FILE KEY
import { writeSync } from 'node:fs'
import { formatTimestamp, SystemClock, unwrap } from '@parley/core'
import { withFile } from '../export/read.ts'
import { openTrail } from '../open-trail.ts'

const [profile, file, key] = process.argv.slice(2)
const trail = await openTrail(profile!)
writeSync(1, 'ready\n')
const at = formatTimestamp(new SystemClock().now())
unwrap(await withFile(file!, source => trail.import(source, { keys: [key!], at })))
writeSync(1, 'imported\n')
await trail.close()
