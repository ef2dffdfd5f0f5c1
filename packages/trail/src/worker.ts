// How threads of this package are started: from the file beside their starter, built or not.
export function workerFile(name: string, from: string): URL {
  return new URL(`${name}.${from.endsWith('.ts') ? 'ts' : 'js'}`, from)
}

/** Of the process's options only package resolution: not `--eval`, `--require` and the like. */
export function workerArguments(): string[] {
  const conditions = process.execArgv.filter(argument => argument.startsWith('--conditions='))
  return [...conditions, '--disable-warning=ExperimentalWarning']
}
