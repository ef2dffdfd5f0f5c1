// Ready configurations for command line agents: how each is run without a terminal in a folder in which it may edit,
// what its output looks like, and what it needs. No preset switches an agent's own safeguards off: `args` can.
import type { AgentNeeds } from '@parley/core'

export const presetNames = ['claude', 'codex', 'gemini', 'opencode', 'qwen'] as const
export type PresetName = (typeof presetNames)[number]

/** Its name is that of its program and of the parser of its output. The prompt goes to standard input. */
interface Preset {
  /** Arguments in front of the model and the configuration's own. */
  readonly args: readonly string[]
  /** Arguments behind the configuration's own. */
  readonly lastArgs?: readonly string[]
  /** Variables of the node's environment that it gets besides the usual ones and its credentials. */
  readonly pass: readonly string[]
  readonly needs: AgentNeeds
}

/** A company's proxy often has its own certificate. */
const CERTIFICATES = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'] as const

export const presets: { readonly [Name in PresetName]: Preset } = {
  claude: {
    args: ['-p', '--output-format', 'stream-json', '--verbose', '--permission-mode', 'acceptEdits'],
    pass: ['ANTHROPIC_BASE_URL', 'CLAUDE_CONFIG_DIR'],
    needs: {
      hosts: ['api.anthropic.com'],
      credentials: {
        variables: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
        // On macOS a login is in the keychain, and there is no such file.
        files: ['~/.claude/.credentials.json'],
      },
      help: 'Run `claude` once and log in, or set ANTHROPIC_API_KEY.',
    },
  },
  codex: {
    // `--sandbox workspace-write` is what `--full-auto` was; a copied folder is no git repository.
    args: ['exec', '--json', '--sandbox', 'workspace-write', '--skip-git-repo-check'],
    lastArgs: ['-'],
    pass: ['OPENAI_BASE_URL', 'CODEX_HOME'],
    needs: {
      hosts: ['api.openai.com', 'chatgpt.com', 'auth.openai.com'],
      credentials: { variables: ['CODEX_API_KEY', 'OPENAI_API_KEY'], files: ['~/.codex/auth.json'] },
      help: 'Run `codex login`, or set CODEX_API_KEY.',
    },
  },
  gemini: {
    args: ['--output-format', 'stream-json', '--approval-mode', 'auto_edit'],
    pass: ['GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION', 'GOOGLE_GENAI_USE_VERTEXAI', 'GEMINI_CLI_HOME'],
    needs: {
      hosts: ['generativelanguage.googleapis.com', 'cloudcode-pa.googleapis.com', 'oauth2.googleapis.com'],
      credentials: {
        variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_APPLICATION_CREDENTIALS'],
        files: ['~/.gemini/oauth_creds.json'],
      },
      help: 'Run `gemini` once and log in, or set GEMINI_API_KEY.',
    },
  },
  opencode: {
    // Edits inside the folder are allowed unless its own configuration says otherwise; what would be asked is refused.
    args: ['run', '--format', 'json'],
    pass: ['OPENCODE_CONFIG', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'],
    needs: {
      // And the host of the provider that its configuration names.
      hosts: ['models.dev', 'opencode.ai'],
      credentials: {
        variables: ['OPENCODE_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY'],
        files: ['~/.local/share/opencode/auth.json'],
      },
      help: 'Run `opencode auth login`, or set the key of your provider. `model` is `provider/model`.',
    },
  },
  qwen: {
    args: ['--output-format', 'stream-json', '--approval-mode', 'auto-edit'],
    pass: ['OPENAI_BASE_URL', 'OPENAI_MODEL'],
    needs: {
      // Or the host of OPENAI_BASE_URL.
      hosts: ['dashscope.aliyuncs.com'],
      credentials: {
        variables: ['OPENAI_API_KEY', 'DASHSCOPE_API_KEY', 'BAILIAN_CODING_PLAN_API_KEY'],
        files: ['~/.qwen/oauth_creds.json', '~/.qwen/settings.json'],
      },
      help: 'Run `qwen` once and choose how to log in, or set OPENAI_API_KEY and OPENAI_BASE_URL.',
    },
  },
}

export function presetCommand(name: PresetName, model?: string, more: readonly string[] = []): [string, ...string[]] {
  const { args, lastArgs = [] } = presets[name]
  return [name, ...args, ...(model === undefined ? [] : ['--model', model]), ...more, ...lastArgs]
}

export function presetVariables(name: PresetName): readonly string[] {
  return [...presets[name].needs.credentials.variables, ...presets[name].pass, ...CERTIFICATES]
}
