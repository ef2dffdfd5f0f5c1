// The public names of @parley/cli.

export { type Table, usageOf } from './args.ts'
export { commandTable } from './commands/table.ts'
export { EXIT, EXIT_MEANINGS, type ExitCode } from './exit.ts'
export { helpText } from './help.ts'
export { main, type Shell } from './main.ts'
