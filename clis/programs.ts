// The coding CLIs, one row each: where npm has them, how they find the model server, and how a model asks them to write
// a file, run a command and call a tool of Parley. Everything else about them is what Parley ships.
import type { Json, ToolCall } from './server/dialect.ts'

export interface Program {
  /** Of the preset, and of the program on the PATH. */
  readonly name: string
  readonly package: string
  readonly version: string
  /** A script of the package that copies its binary into place; npm would run it after an installation. */
  readonly copy?: string
  /** Where its own default is none that the model server could be asked for. */
  readonly model?: string
  /** It tells what its turns cost in money. */
  readonly money?: true
  /** As a user of a subscription has them set, instead of a key. */
  readonly subscription?: Readonly<Record<string, string>>
  /** As a user has them set: credentials, and where the model is. */
  environment(url: string): Readonly<Record<string, string>>
  /** Files of the home folder, where a variable cannot say where the model is. */
  home?(url: string): Readonly<Record<string, string>>
  write(path: string, text: string): ToolCall
  run(command: string): ToolCall
  /** A tool of `parley mcp`. */
  parley(verb: string, input: Json): ToolCall
}

export const KEY = 'dummy-key-0123456789'

export const programs: readonly Program[] = [
  {
    name: 'claude',
    package: '@anthropic-ai/claude-code',
    version: '2.1.328',
    copy: 'install.cjs',
    model: 'claude-sonnet-4-5',
    money: true,
    subscription: { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: KEY },
    environment: url => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: KEY }),
    // No variable of the user's own turns these off: nothing that a program sends leaves the machine, but it waits.
    home: () => ({
      '.claude/settings.json': JSON.stringify({
        env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1' },
      }),
    }),
    write: (path, content) => ({ tool: 'Write', input: { file_path: path, content } }),
    run: command => ({ tool: 'Bash', input: { command, description: 'Run it' } }),
    parley: (verb, input) => ({ tool: `mcp__parley__${verb}`, input }),
  },
  {
    name: 'codex',
    package: '@openai/codex',
    version: '0.169.0',
    environment: () => ({ OPENAI_API_KEY: KEY }),
    home: url => ({
      '.codex/config.toml': `openai_base_url = "${url}/v1"\ncheck_for_update_on_startup = false\n\n[analytics]\nenabled = false\n`,
    }),
    // Its newest models run JavaScript, which has the tools.
    write: (path, text) => exec('apply_patch', `*** Begin Patch\n*** Add File: ${path}\n+${text}\n*** End Patch\n`),
    run: command => exec('exec_command', { cmd: command }),
    parley: (verb, input) => exec(`mcp__parley__${verb}`, input),
  },
  {
    name: 'gemini',
    package: '@google/gemini-cli',
    version: '0.61.0',
    model: 'gemini-2.5-pro',
    environment: url => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: KEY }),
    home: () => ({
      '.gemini/settings.json': JSON.stringify({
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        privacy: { usageStatisticsEnabled: false },
      }),
    }),
    write: (path, content) => ({ tool: 'write_file', input: { file_path: path, content } }),
    run: command => ({ tool: 'run_shell_command', input: { command } }),
    parley: (verb, input) => ({ tool: `mcp_parley_${verb}`, input }),
  },
  {
    name: 'opencode',
    package: 'opencode-ai',
    version: '1.18.33',
    copy: 'postinstall.mjs',
    model: 'anthropic/claude-sonnet-4-5',
    money: true,
    environment: () => ({ ANTHROPIC_API_KEY: KEY }),
    home: url => ({
      '.config/opencode/opencode.json': JSON.stringify({
        autoupdate: false,
        share: 'disabled',
        provider: { anthropic: { options: { baseURL: `${url}/v1` } } },
      }),
    }),
    write: (path, content) => ({ tool: 'write', input: { filePath: path, content } }),
    run: command => ({ tool: 'bash', input: { command, description: 'Run it' } }),
    parley: (verb, input) => ({ tool: `parley_${verb}`, input }),
  },
  {
    name: 'qwen',
    package: '@qwen-code/qwen-code',
    version: '0.24.4',
    model: 'qwen3-coder-plus',
    environment: url => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: KEY }),
    home: () => ({
      '.qwen/settings.json': JSON.stringify({
        general: { enableAutoUpdate: false, disableAutoUpdate: true },
        privacy: { usageStatisticsEnabled: false },
      }),
    }),
    write: (path, content) => ({ tool: 'write_file', input: { file_path: `{folder}/${path}`, content } }),
    run: command => ({ tool: 'run_shell_command', input: { command, is_background: false } }),
    parley: (verb, input) => ({ tool: `mcp__parley__${verb}`, input }),
  },
]

function exec(tool: string, input: Json | string): ToolCall {
  return { tool: 'exec', input: `text(await tools.${tool}(${JSON.stringify(input)}))` }
}
