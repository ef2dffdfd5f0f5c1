// Names that a person uses for files with secrets: they come along only if somebody writes the name out.

export const secretName = /^\.env(rc|\.[^*?[\]{}]+)?$/i

/** The same for git, which may ignore case or not. */
export const secretPatterns = ['.env', '.envrc', '.env.*'] as const
