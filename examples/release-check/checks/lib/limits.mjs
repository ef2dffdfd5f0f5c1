// Every bound of the checks, by name. Those that a user may want to move are read from the environment.

const MiB = 1024 * 1024

/** A number from the environment, or the default where it is missing or no number. */
function setting(name, byDefault) {
  const value = Number(process.env[name] || Number.NaN)
  return Number.isFinite(value) && value > 0 ? value : byDefault
}

export const limits = {
  /** Time for all of the project's test commands together. */
  testMs: setting('RELEASE_CHECK_TEST_SECONDS', 30) * 1000,
  /** Between asking a process group to end and ending it. */
  graceMs: 2000,
  /** Characters of a command's output that are kept: the end of it, since that is where results are. */
  outputChars: 512 * 1024,
  /** Time and bytes for reading the history. */
  historyMs: setting('RELEASE_CHECK_HISTORY_SECONDS', 20) * 1000,
  historyBytes: setting('RELEASE_CHECK_HISTORY_MIB', 256) * MiB,
  /** Characters of one line that are looked at; longer ones are generated code. */
  lineChars: 16 * 1024,
  /** git takes a file above this for binary and shows no difference of it. */
  textFileBytes: 8 * MiB,
  /** A tracked file above the first is remarked on; above the second it stops the release. */
  fileBytes: setting('RELEASE_CHECK_FILE_MIB', 5) * MiB,
  hugeFileBytes: 50 * MiB,
  /** What one published package may hold, unpacked, before it is remarked on. */
  packageBytes: setting('RELEASE_CHECK_PACKAGE_MIB', 20) * MiB,
  /** Time for listing what all packages of a repository would publish. */
  packMs: 20_000,
  /** A Markdown file above this is not read. */
  documentBytes: 4 * MiB,
  /** Time for one short command, such as a question to git. */
  commandMs: 30_000,
  commandBytes: 128 * MiB,
  /** Findings in the JSON and in the Markdown; the rest is counted. */
  findingsKept: 500,
  findingsShown: 25,
}
