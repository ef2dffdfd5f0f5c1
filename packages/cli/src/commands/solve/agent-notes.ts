// The section of AGENTS.md that tells an agent how to work in a Parley team.
export const AGENT_NOTES = `## Working in a Parley workspace

When the environment has \`PARLEY_TOKEN_FILE\`, you work on one task of a team, in a folder of your own.

- \`parley ws status\` says which task it is and which files you may change. Changes elsewhere are reverted.
- \`parley ws checkpoint "what you did"\` saves the folder as it is now. If your turn is interrupted, the next one resumes from there.
- \`parley ws inbox\` prints new mail for you. Read it when \`parley ws status\` shows unread mail.
- \`parley ws block "your question"\` says that you cannot continue without an answer. Then end your process; the answer starts your next turn.

Leave your result as files in the folder and end with exit code 0. Do not commit, push or change branches: Parley
integrates what you changed. Add \`--json\` to any command for output that programs can read.`
