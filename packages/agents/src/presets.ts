// Ready configurations for command line agents: how each is run without a terminal in a folder in which it may edit,
// what its output looks like, and what it needs. No preset switches an agent's own safeguards off: `args` can.
import type { AgentNeeds } from '@parley/core'
import { escaped, inBlocks, led, unnamed } from './command/words.ts'

export const presetNames = ['claude', 'codex', 'gemini', 'opencode', 'qwen'] as const
export type PresetName = (typeof presetNames)[number]

/** Its name is that of its program and of the parser of its output. */
interface Preset {
  /** Arguments in front of the model and the configuration's own. */
  readonly args: readonly string[]
  /** In front of the name of a conversation that it continues: an option, or a word behind all options. */
  readonly resume: string
  /** In front of the dollars that a turn may still spend: the program ends by itself when they are spent. */
  readonly spend?: string
  /** Arguments behind the configuration's own. */
  readonly lastArgs?: readonly string[]
  /** Variables with their values; those of the configuration win. */
  readonly env?: Readonly<Record<string, string>>
  /** The prompt as it goes to standard input: nothing in it may be a command or a file to the program. */
  readonly input: (prompt: string) => string
  /** A key of another name that it takes for its own where it has no login; `settings` may say that it has one. */
  readonly borrows?: { readonly as: string; readonly from: string; readonly settings: string }
  /** Variables of the node's environment that it gets besides the usual ones and its credentials. */
  readonly pass: readonly string[]
  readonly needs: AgentNeeds
}

/** A company's proxy often has its own certificate. */
const CERTIFICATES = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'] as const

export const presets: { readonly [Name in PresetName]: Preset } = {
  claude: {
    args: [
      '-p',
      '--input-format',
      'stream-json',
      '--output-format',
      'stream-json',
      '--verbose',
      '--permission-mode',
      'acceptEdits',
    ],
    input: inBlocks,
    resume: '--resume',
    // It tells what it cost at its end.
    spend: '--max-budget-usd',
    pass: ['ANTHROPIC_BASE_URL', 'CLAUDE_CONFIG_DIR'],
    needs: {
      hosts: ['api.anthropic.com'],
      credentials: {
        variables: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
        // On macOS a login is in the keychain, and there is no such file.
        files: ['~/.claude/.credentials.json'],
        moved: { CLAUDE_CONFIG_DIR: '~/.claude' },
      },
      help: 'Run `claude` once and log in, or set ANTHROPIC_API_KEY.',
    },
  },
  codex: {
    // `--sandbox workspace-write` is what `--full-auto` was; a copied folder is no git repository.
    args: ['exec', '--json', '--sandbox', 'workspace-write', '--skip-git-repo-check'],
    resume: 'resume',
    lastArgs: ['-'],
    // Its output says at the end of a turn what that used, its log after each answer of the model.
    env: { RUST_LOG: 'error,codex_otel.trace_safe=info' },
    input: unnamed,
    // It sends OPENAI_API_KEY to providers of its configuration only.
    borrows: { as: 'CODEX_API_KEY', from: 'OPENAI_API_KEY', settings: 'config.toml' },
    pass: ['OPENAI_BASE_URL', 'CODEX_HOME'],
    needs: {
      hosts: ['api.openai.com', 'chatgpt.com', 'auth.openai.com'],
      credentials: {
        variables: ['CODEX_API_KEY', 'OPENAI_API_KEY'],
        files: ['~/.codex/auth.json'],
        moved: { CODEX_HOME: '~/.codex' },
      },
      help: 'Run `codex login`, or set CODEX_API_KEY.',
    },
  },
  gemini: {
    args: ['--output-format', 'stream-json', '--approval-mode', 'auto_edit'],
    // Each folder is new to it. Older versions do not know the option for this, and ignore the variable.
    env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    input: escaped,
    pass: [
      'GOOGLE_GEMINI_BASE_URL',
      'GOOGLE_CLOUD_PROJECT',
      'GOOGLE_CLOUD_LOCATION',
      'GOOGLE_API_KEY',
      'GOOGLE_APPLICATION_CREDENTIALS',
      'GEMINI_CLI_HOME',
    ],
    resume: '--resume',
    needs: {
      hosts: ['generativelanguage.googleapis.com', 'cloudcode-pa.googleapis.com', 'oauth2.googleapis.com'],
      credentials: {
        // Other keys of Google count only where one of these says what they are for.
        variables: ['GEMINI_API_KEY', 'GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA'],
        files: ['~/.gemini/oauth_creds.json'],
        moved: { GEMINI_CLI_HOME: '~' },
      },
      help: 'Run `gemini` once and log in, or set GEMINI_API_KEY.',
    },
  },
  opencode: {
    // Edits inside the folder are allowed unless its own configuration says otherwise; what would be asked is refused.
    // Its retries are in its log alone, which nothing else is read from.
    args: ['run', '--format', 'json', '--print-logs', '--log-level', 'ERROR'],
    input: led,
    resume: '--session',
    pass: ['OPENCODE_CONFIG', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'],
    needs: {
      // And the host of the provider that its configuration names.
      hosts: ['models.dev', 'opencode.ai'],
      credentials: {
        variables: ['OPENCODE_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY'],
        files: ['~/.local/share/opencode/auth.json'],
        moved: { XDG_DATA_HOME: '~/.local/share' },
      },
      help: 'Run `opencode auth login`, or set the key of your provider. `model` is `provider/model`.',
    },
  },
  qwen: {
    args: ['--output-format', 'stream-json', '--approval-mode', 'auto-edit'],
    input: escaped,
    resume: '--resume',
    // Keys of these names count only where its settings say what they are for.
    pass: ['OPENAI_BASE_URL', 'OPENAI_MODEL', 'DASHSCOPE_API_KEY', 'BAILIAN_CODING_PLAN_API_KEY'],
    needs: {
      // Or the host of OPENAI_BASE_URL.
      hosts: ['dashscope.aliyuncs.com'],
      credentials: {
        variables: ['OPENAI_API_KEY'],
        files: ['~/.qwen/oauth_creds.json', '~/.qwen/settings.json'],
      },
      help: 'Run `qwen` once and choose how to log in, or set OPENAI_API_KEY and OPENAI_BASE_URL.',
    },
  },
}

export interface PresetExtras {
  /** What gives the program the tools of its turn. */
  readonly wired?: readonly string[]
  /** A conversation of its own that it continues. */
  readonly session?: string | undefined
  /** What it may spend. */
  readonly usd?: number | undefined
}

export function presetCommand(
  name: PresetName,
  model?: string,
  more: readonly string[] = [],
  { wired = [], session, usd }: PresetExtras = {},
): [string, ...string[]] {
  const { args, resume, spend, lastArgs = [] } = presets[name]
  const limit = usd === undefined || spend === undefined ? [] : [spend, Math.max(usd, 0.0001).toFixed(4)]
  const chosen = model === undefined ? [] : ['--model', model]
  const continued = session === undefined ? [] : [resume, session]
  return [name, ...args, ...wired, ...limit, ...chosen, ...more, ...continued, ...lastArgs]
}

export function presetVariables(name: PresetName): readonly string[] {
  return [...presets[name].needs.credentials.variables, ...presets[name].pass, ...CERTIFICATES]
}
