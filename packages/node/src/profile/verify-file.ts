// An exported run is verified as a file, without a node or a profile.
import { type ExportReport, verifyExport, withFile } from '@parley/trail'

/** Fails as reading the file does; what is wrong with its content is in the report. */
export function verifyExportFile(
  file: string,
  options: Parameters<typeof verifyExport>[1] = {},
): Promise<ExportReport> {
  return withFile(file, source => verifyExport(source, options))
}
