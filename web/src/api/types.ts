// Written by `python web/api_types.py` from the types of the server. Do not edit.

export interface AcceptedRun {
  message: Message | null;
  run: Run;
}

export interface ActionRejected {
  type: "action_rejected";
  run: string;
  seq: number;
  at: number;
  participant: string;
  stage: string;
  round: number;
  name: string;
  reason: string;
}

export interface ActionTaken {
  type: "action";
  run: string;
  seq: number;
  at: number;
  participant: string;
  stage: string;
  round: number;
  id: string;
  action: OpenWhiteboard | CloseWhiteboard | ClearWhiteboard | DeleteElement | DrawText | DrawShape | DrawChart | DrawLatex | DrawTable | DrawLine | DrawCode | EditCode | Spotlight | Laser | PlayVideo;
}

export interface ActiveDiscussion {
  discussion: string;
  runs: number;
}

export interface Activity {
  type: "activity";
  runs: readonly Run[];
  awaiting_approval: readonly string[];
}

export interface AdvisorOptions {
  question_turns?: number;
  max_prompt_tokens?: number;
  cross_talk?: boolean;
  synthesis?: boolean;
}

export interface AgreementChecked {
  type: "agreement_checked";
  run: string;
  seq: number;
  at: number;
  cache_key: string;
  model: string;
  usage: Usage;
  cost_usd: number | null;
  agree: boolean;
  reason: string;
  saved_usd: number | null;
}

export interface Answer {
  text: string;
  thoughts: string;
  details: string;
  lesson_items: string;
  tools: readonly ToolUse[];
}

export interface AppliedImprovement {
  persona: string;
  field: "description" | "system_prompt";
  before: string;
  after: string;
  is_new_persona: boolean;
  participant: string;
  previous_persona: string | null;
}

export interface ApprovalDecisionBody {
  decision: "allow" | "always" | "refuse";
}

export interface ApprovalRequested {
  type: "approval_requested";
  run: string;
  seq: number;
  at: number;
  participant: string;
  stage: string;
  round: number;
  call_id: string;
  name: string;
  timeout_seconds: number;
  repeated: boolean;
}

export interface ApprovalResolved {
  type: "approval_resolved";
  run: string;
  seq: number;
  at: number;
  participant: string;
  stage: string;
  round: number;
  call_id: string;
  outcome: "allow" | "always" | "refuse" | "expired" | "stopped";
}

export interface AssertionsInput {
  assertions: string;
  judge?: string | null;
}

export interface Board {
  open: boolean;
  elements: readonly Element[];
}

export interface Budget {
  weekly_budget_usd: number | null;
  week_starts: number;
  week_ends: number;
  spent_usd: number;
  reserved_usd: number;
  remaining_usd: number | null;
  reset_at: number | null;
}

export interface Charge {
  purpose: "agreement" | "answer" | "assertion" | "claims" | "consolidation" | "director" | "export" | "improvement" | "memory" | "persona_suggestions" | "ranking" | "reference_summary" | "summary" | "synthesis" | "title";
  model: string;
  usage: Usage;
  cost_usd: number | null;
  participant: string | null;
  id: string;
}

export interface ChartData {
  labels: readonly string[];
  legends: readonly string[];
  series: readonly (readonly number[])[];
}

export interface Claim {
  claim: string;
  supporters: readonly ClaimQuote[];
  opponents: readonly ClaimQuote[];
  minority: boolean;
}

export interface ClaimQuote {
  participant: string;
  quote: string;
  message: string;
}

export interface ClaimsExtracted {
  type: "claims";
  run: string;
  seq: number;
  at: number;
  cache_key: string;
  model: string;
  usage: Usage;
  cost_usd: number | null;
  claims: DebateClaims;
}

export interface ClarifyingQuestions {
  questions: readonly string[];
  model: string;
  usage: Usage;
  cost_usd: number | null;
}

export interface ClearWhiteboard {
  name: "wb_clear";
}

export interface CloseWhiteboard {
  name: "wb_close";
}

export interface CodeLine {
  id: string;
  text: string;
}

export interface CodeListing {
  lines: readonly CodeLine[];
  named: number;
}

export interface Consolidation {
  id: string;
  project: string;
  status: "completed" | "failed" | "running";
  model: string;
  patterns: readonly Pattern[];
  fault: string | null;
  created_at: number;
  ended_at: number | null;
}

export interface ConsolidationResult {
  consolidation: Consolidation;
  usage: Usage;
  cost_usd: number | null;
}

export interface ContinueRequest {
  turns?: number;
}

export interface DebateClaims {
  claims: readonly Claim[];
  position_changes: readonly PositionChange[];
  dropped_quotes: number;
}

export interface DebateOptions {
  lead?: string | null;
  quorum?: number | null;
  deadline?: number | null;
  skip_if_agreed?: boolean;
  ranking?: boolean;
  claims?: boolean;
}

export interface DebateSummary {
  original_prompt: string;
  overview: string;
  cross_model: TableSummary;
  per_model: readonly ParticipantSummary[];
}

export interface DeleteElement {
  name: "wb_delete";
  elementId: string;
}

export interface DirectedOptions {
  turns?: number;
  first_speaker?: string | null;
  topic?: string;
}

export interface Discussion {
  id: string;
  title: string;
  status: "active" | "archived" | "completed";
  mode: string;
  participants: readonly Participant[];
  rounds: number;
  persona: string | null;
  project: string | null;
  language: string | null;
  model: string | null;
  task_model: string | null;
  debate: DebateOptions | null;
  advisors: AdvisorOptions | null;
  directed: DirectedOptions | null;
  summary: string | null;
  usefulness: number | null;
  exported_at: number | null;
  created_at: number;
  updated_at: number;
}

export interface DiscussionChange {
  title?: string;
  status?: "active" | "archived" | "completed";
  mode?: "advisors" | "consensus" | "debate" | "directed" | "parallel" | "single";
  participants?: readonly (string | ParticipantInput)[];
  rounds?: number;
  persona?: string | null;
  project?: string | null;
  language?: string;
  model?: string | null;
  debate?: DebateOptions | null;
  advisors?: AdvisorOptions | null;
  directed?: DirectedOptions | null;
  task_model?: string | null;
}

export interface DiscussionChanged {
  type: "discussion_changed";
  discussion: Discussion;
  runs: readonly Run[];
  awaiting_approval: readonly string[];
}

export interface DiscussionDeleted {
  type: "discussion_deleted";
  id: string;
}

export interface DiscussionDetail {
  discussion: Discussion;
  messages: readonly Message[];
  before: number | null;
  runs: readonly Run[];
  notices: readonly (Notice | ReferenceSummarized)[];
}

export interface DiscussionDraft {
  message: string;
  participants: readonly (string | ParticipantInput)[];
  title?: string | null;
  mode?: "advisors" | "consensus" | "debate" | "directed" | "parallel" | "single" | null;
  rounds?: number;
  persona?: string | null;
  project?: string | null;
  language?: string | null;
  model?: string | null;
  debate?: DebateOptions | null;
  advisors?: AdvisorOptions | null;
  directed?: DirectedOptions | null;
  task_model?: string | null;
  files?: readonly string[];
  max_cost_usd?: number | null;
}

export interface DiscussionPage {
  discussions: readonly Discussion[];
  next: string | null;
  hits: readonly SearchHit[];
}

export interface DrawChart {
  name: "wb_draw_chart";
  elementId: string | null;
  chartType: "area" | "bar" | "column" | "line" | "pie" | "radar" | "ring" | "scatter";
  x: number;
  y: number;
  width: number;
  height: number;
  data: ChartData;
  themeColors: readonly string[];
}

export interface DrawCode {
  name: "wb_draw_code";
  elementId: string | null;
  language: string;
  code: string;
  x: number;
  y: number;
  width: number;
  height: number;
  fileName: string;
}

export interface DrawLatex {
  name: "wb_draw_latex";
  elementId: string | null;
  latex: string;
  x: number;
  y: number;
  width: number;
  height: number;
  color: string;
}

export interface DrawLine {
  name: "wb_draw_line";
  elementId: string | null;
  startX: number;
  startY: number;
  endX: number;
  endY: number;
  color: string;
  width: number;
  style: "dashed" | "solid";
  points: readonly ["" | "arrow" | "dot", "" | "arrow" | "dot"];
}

export interface DrawShape {
  name: "wb_draw_shape";
  elementId: string | null;
  shape: "circle" | "rectangle" | "triangle";
  x: number;
  y: number;
  width: number;
  height: number;
  fillColor: string;
}

export interface DrawTable {
  name: "wb_draw_table";
  elementId: string | null;
  x: number;
  y: number;
  width: number;
  height: number;
  data: readonly (readonly string[])[];
  themeColor: string;
}

export interface DrawText {
  name: "wb_draw_text";
  elementId: string | null;
  content: string;
  x: number;
  y: number;
  width: number;
  height: number;
  fontSize: number;
  color: string;
}

export interface EditCode {
  name: "wb_edit_code";
  elementId: string;
  operation: "delete_lines" | "insert_after" | "insert_before" | "replace_lines";
  lineId: string | null;
  lineIds: readonly string[];
  content: string;
}

export interface Element {
  id: string;
  drawing: DrawText | DrawShape | DrawChart | DrawLatex | DrawTable | DrawLine | DrawCode;
  participant: string | null;
  listing: CodeListing;
}

export interface Estimate {
  forecast: Forecast;
  remaining_usd: number | null;
}

export interface EstimateRequest {
  message: string;
  participants?: readonly (string | ParticipantInput)[] | null;
  title?: string | null;
  mode?: "advisors" | "consensus" | "debate" | "directed" | "parallel" | "single" | null;
  rounds?: number;
  persona?: string | null;
  project?: string | null;
  language?: string | null;
  model?: string | null;
  debate?: DebateOptions | null;
  advisors?: AdvisorOptions | null;
  directed?: DirectedOptions | null;
  task_model?: string | null;
  files?: readonly string[];
  max_cost_usd?: number | null;
  discussion?: string | null;
  to?: readonly string[] | null;
}

export interface Evaluation {
  id: string;
  message: string;
  judge: string;
  assertions: readonly string[];
  verdicts: readonly Verdict[];
  rounds: readonly ImprovementRound[];
  applied_improvement: AppliedImprovement | null;
  created_at: number;
  applied_at: number | null;
}

export interface EvaluationResult {
  evaluation: Evaluation;
  usage: Usage;
  cost_usd: number | null;
}

export interface ExportResult {
  discussion: string;
  summary: string;
  usefulness: number;
  insights: readonly Insight[];
  model: string;
  usage: Usage;
  cost_usd: number | null;
}

export interface Fault {
  kind: "api_error" | "auth" | "bad_response" | "content_blocked" | "context_length" | "network" | "overloaded" | "rate_limit" | "timeout";
  message: string;
  retryable: boolean;
  retry_after: number | null;
}

export interface FieldError {
  field: string;
  message: string;
}

export interface File {
  type: "file";
  name: string;
  media_type: string;
  data: unknown;
}

export interface Forecast {
  lines: readonly ForecastLine[];
  calls: number;
  input: number;
  output: number;
  cost_usd: number;
  unpriced_models: readonly string[];
}

export interface ForecastLine {
  purpose: "agreement" | "answer" | "assertion" | "claims" | "consolidation" | "director" | "export" | "improvement" | "memory" | "persona_suggestions" | "ranking" | "reference_summary" | "summary" | "synthesis" | "title";
  participant: string | null;
  model: string;
  calls: number;
  input: number;
  output: number;
  cost_usd: number | null;
}

export interface ImprovementEnded {
  type: "done";
  outcome: "all_pass" | "failed" | "no_more_rounds";
  evaluation: Evaluation;
  message: string;
}

export interface ImprovementRound {
  description: string;
  change: string;
  answer: string;
  verdicts: readonly Verdict[];
  is_better: boolean;
  cost_usd: number | null;
  created_at: number;
}

export interface ImprovementStarted {
  type: "improving";
  evaluation: Evaluation;
}

export interface Insight {
  id: string;
  discussion: string;
  project: string | null;
  kind: "decision" | "pain_point" | "pattern" | "solution" | "strength";
  title: string;
  detail: string;
  category: string;
  suggestion: string | null;
  severity: "blocker" | "high" | "low" | "medium" | null;
  answers_insight: string | null;
  messages: readonly string[];
  created_at: number;
}

export interface InsightPage {
  insights: readonly Insight[];
  next: string | null;
}

export interface InstructionsSent {
  type: "instructions_sent";
  run: string;
  seq: number;
  at: number;
  participant: string;
  stage: string;
  round: number;
  message: string;
}

export interface KnowledgeRequest {
  model?: string | null;
}

export interface LaneReport {
  participant: string;
  status: "complete" | "debate" | "error" | "initial";
  error: string | null;
  late: boolean;
  name: string;
  model: string;
  anchors: Readonly<Record<string, string>>;
}

export interface LaneThread {
  lane: LaneReport;
  messages: readonly Message[];
}

export interface Laser {
  name: "laser";
  elementId: string;
  color: string;
}

export interface ListedServer {
  name: string;
  owner: "moot" | "own" | "server";
  tools: readonly ListedTool[];
  error: string | null;
}

export interface ListedTool {
  name: string;
  description: string;
  has_effects: boolean;
  trusted: boolean;
}

export interface Login {
  name: string;
  password: string;
}

export interface Me {
  account: string;
  tenant: string;
  name: string;
  kind: "local" | "session" | "token";
}

export interface Message {
  id: string;
  discussion: string;
  role: "assistant" | "synthesis" | "system" | "user";
  content: string;
  seq: number;
  run: string | null;
  participant: string | null;
  name: string | null;
  stage: string | null;
  round: number;
  status: "completed" | "failed" | "interrupted" | "partial" | "stopped";
  thoughts: string;
  details: string;
  provider: string | null;
  model: string | null;
  usage: Usage | null;
  cost_usd: number | null;
  latency_seconds: number | null;
  first_token_seconds: number | null;
  fault: Fault | null;
  finish_reason: "content_filter" | "length" | "stop" | "tool_calls" | null;
  visible_to: readonly string[] | null;
  thread: string | null;
  files: readonly string[] | null;
  hidden: boolean;
  view: string | null;
  visible_until: number | null;
  instructions: string | null;
  lesson_items: string | null;
  tools: readonly ToolUse[] | null;
  version_of: string | null;
  copy_of: string | null;
  version: number;
  versions: number;
  version_id: string | null;
  revised_seq: number;
  edited: boolean;
  created_at: number;
}

export interface MessageDraft {
  message: string;
  to?: readonly string[] | null;
  files?: readonly string[];
  max_cost_usd?: number | null;
}

export interface MessageEdit {
  content: string;
}

export interface ModelMessage {
  role: "assistant" | "user";
  parts: readonly (Text | Thought | File | ToolCall | ToolResult)[];
}

export interface ModelRequest {
  model: string;
  messages: readonly ModelMessage[];
  system: string;
  tools: readonly Tool[];
  temperature: number | null;
  max_tokens: number | null;
  stop: readonly string[];
  json_schema: unknown | null;
  array_of: unknown | null;
  thinking: "high" | "low" | "medium" | null;
}

export interface NewKey {
  key: string;
}

export interface NewToken {
  name: string;
}

export interface NewToolServer {
  url: string;
  headers?: Readonly<Record<string, string>>;
}

export interface Notice {
  type: "notice";
  run: string;
  seq: number;
  at: number;
  kind: "agreed" | "asked_again" | "fallback" | "gave_up" | "lead_replaced" | "max_cost" | "missing" | "next_key" | "reference_summary" | "resumed" | "retried" | "retry" | "still_working" | "tools" | "waiting";
  message: string;
  participant: string | null;
  charge: Charge | null;
}

export interface OpenWhiteboard {
  name: "wb_open";
}

export interface Participant {
  id: string;
  name: string;
  model: string;
  persona?: string | null;
  temperature?: number | null;
  max_tokens?: number | null;
  thinking?: "high" | "low" | "medium" | null;
  role?: "assistant" | "student" | "teacher" | null;
  priority?: number;
  active?: boolean;
  colour?: string | null;
  avatar?: string | null;
  tools?: readonly string[];
}

export interface ParticipantInput {
  id?: string | null;
  model: string;
  persona?: string | null;
  name?: string | null;
  temperature?: number | null;
  max_tokens?: number | null;
  thinking?: "high" | "low" | "medium" | null;
  role?: "assistant" | "student" | "teacher" | null;
  priority?: number;
  active?: boolean;
  colour?: string | null;
  avatar?: string | null;
  tools?: readonly string[];
}

export interface ParticipantSummary {
  participant: string;
  initial_summary: string;
  refined_summary: string;
  changed_position: boolean;
  key_points: readonly string[];
}

export interface Pattern {
  id: string;
  kind: "architecture" | "pain" | "pattern" | "solution" | "success" | "tool";
  title: string;
  description: string;
  evidence: readonly string[];
  frequency: number;
  severity: "blocker" | "high" | "low" | "medium" | null;
  tags: readonly string[];
}

export interface Persona {
  id: string;
  name: string;
  description: string;
  system_prompt: string;
  traits: readonly string[];
  specialisations: readonly string[];
  category: string;
  colour: string;
  uses: number;
  success_rate: number | null;
  level: number;
  builtin: boolean;
  created_at: number;
}

export interface PersonaChange {
  name?: string;
  description?: string;
  system_prompt?: string;
  traits?: readonly string[];
  specialisations?: readonly string[];
  category?: string;
  colour?: string;
}

export interface PersonaDraft {
  name: string;
  description?: string;
  system_prompt?: string;
  traits?: readonly string[];
  specialisations?: readonly string[];
  category?: string;
  colour?: string;
}

export interface PersonaPage {
  personas: readonly Persona[];
  next: string | null;
}

export interface PersonaRewritten {
  type: "rewritten";
  round: number;
  change: string;
  description: string;
}

export interface PersonaSuggested {
  type: "proposal";
  proposal: Proposal;
}

export interface PlayVideo {
  name: "play_video";
  elementId: string;
}

export interface PositionChange {
  participant: string;
  before: string;
  after: string;
  because_of: string | null;
  quote: string;
  message: string;
}

export interface Post {
  id: string;
  project: string;
  title: string;
  excerpt: string;
  published_at: number | null;
  created_at: number;
}

export interface PostChange {
  title?: string;
  excerpt?: string;
  published?: boolean;
}

export interface PostDraft {
  title: string;
  excerpt?: string;
  published?: boolean;
}

export interface PostPage {
  posts: readonly Post[];
  next: string | null;
}

export interface Preset {
  id: string;
  name: string;
  mode: "advisors" | "consensus" | "debate" | "directed" | "parallel" | "single";
  participants: readonly Participant[];
  rounds: number;
  task_model: string | null;
  debate: DebateOptions | null;
  advisors: AdvisorOptions | null;
  directed: DirectedOptions | null;
  created_at: number;
}

export interface PresetChange {
  name?: string;
  participants?: readonly (string | ParticipantInput)[];
  mode?: "advisors" | "consensus" | "debate" | "directed" | "parallel" | "single";
  rounds?: number;
  task_model?: string | null;
  debate?: DebateOptions | null;
  advisors?: AdvisorOptions | null;
  directed?: DirectedOptions | null;
}

export interface PresetDraft {
  name: string;
  participants: readonly (string | ParticipantInput)[];
  mode?: "advisors" | "consensus" | "debate" | "directed" | "parallel" | "single" | null;
  rounds?: number;
  task_model?: string | null;
  debate?: DebateOptions | null;
  advisors?: AdvisorOptions | null;
  directed?: DirectedOptions | null;
}

export interface PresetPage {
  presets: readonly Preset[];
  next: string | null;
}

export interface Problem {
  title: string;
  status: number;
  detail: string;
  errors?: readonly FieldError[];
  type?: string;
}

export interface Project {
  id: string;
  name: string;
  description: string;
  repository: string;
  created_at: number;
}

export interface ProjectChange {
  name?: string;
  description?: string;
  repository?: string;
}

export interface ProjectDraft {
  name: string;
  description?: string;
  repository?: string;
}

export interface ProjectPage {
  projects: readonly Project[];
  next: string | null;
}

export interface ProjectPatterns {
  completed: Consolidation | null;
  newest: Consolidation | null;
}

export interface PromptPartView {
  role: "assistant" | "system" | "user";
  origin: "call" | "file" | "filler" | "instructions" | "language" | "memory" | "message" | "mode" | "own" | "persona" | "project" | "reference" | "reference_summary" | "result";
  name: string | null;
  message: string | null;
  text: string;
  tokens: number;
  size: number | null;
}

export interface PromptParts {
  model: string;
  tokens: number;
  parts: readonly PromptPartView[];
  tools: readonly string[];
}

export interface Proposal {
  name: string;
  category: "challenger" | "figure" | "role" | "thinker";
  description: string;
  rationale: string;
}

export interface ProviderModels {
  provider: string;
  key: "missing" | "not needed" | "own" | "server";
  ready: boolean;
  note: string | null;
  models: readonly string[];
  default_model: string | null;
  token_rates: Readonly<Record<string, TokenRate>>;
  error: string | null;
}

export interface ProviderStatus {
  name: string;
  api: "anthropic" | "google" | "local" | "openai" | "scripted" | null;
  origin: string;
  key: "missing" | "not needed" | "own" | "server";
  variables: readonly string[];
  stored_at: number | null;
}

export interface RankedAnswer {
  participant: string;
  points: number;
  votes: number;
}

export interface Ranking {
  answers: readonly RankedAnswer[];
  votes: Readonly<Record<string, readonly (readonly string[])[]>>;
}

export interface RankingMade {
  type: "ranking";
  run: string;
  seq: number;
  at: number;
  cache_key: string;
  model: string;
  usage: Usage;
  cost_usd: number | null;
  ranking: Ranking;
}

export interface ReferenceSummarized {
  type: "reference_summarized";
  run: string;
  seq: number;
  at: number;
  cache_key: string;
  model: string;
  usage: Usage;
  cost_usd: number | null;
  message: string;
  title: string;
  discussion: string;
  summary: string;
}

export interface RegenerateRequest {
  model?: string | null;
}

export interface RejectedProposal {
  name: string;
  reason: string;
}

export interface Resync {
  type: "resync";
  run: string;
  after: number;
}

export interface RetryRequest {
  model?: string | null;
}

export interface RoundAnswered {
  type: "answered";
  round: number;
  answer: string;
}

export interface RoundEnded {
  type: "round_ended";
  number: number;
  round: ImprovementRound;
}

export interface Run {
  id: string;
  discussion: string;
  message: string | null;
  mode: string;
  status: "running" | "waiting" | "completed" | "failed" | "interrupted" | "stopped";
  created_at: number;
  ended_at: number | null;
  revision: number;
  regenerates: string | null;
}

export interface RunEnded {
  type: "run_ended";
  run: string;
  seq: number;
  at: number;
  status: "completed" | "failed" | "interrupted" | "stopped";
}

export interface RunReport {
  id: string;
  discussion: string;
  message: string | null;
  mode: string;
  status: "running" | "waiting" | "completed" | "failed" | "interrupted" | "stopped";
  created_at: number;
  ended_at: number | null;
  revision: number;
  regenerates: string | null;
  lanes: readonly LaneReport[];
  summary: DebateSummary | null;
  ranking: Ranking | null;
  claims: readonly Claim[];
  position_changes: readonly PositionChange[];
  dropped_quotes: number;
  agreement: AgreementChecked | null;
  decisions: readonly SpeakerSelected[];
  notices: readonly Notice[];
  usage: Usage;
  cost_usd: number;
  unpriced_calls: number;
}

export interface RunStarted {
  type: "run_started";
  run: string;
  seq: number;
  at: number;
  participants: readonly Participant[];
  regenerates: string;
}

export interface SearchHit {
  before: string;
  match: string;
  after: string;
  discussion: string;
  message: string;
}

export interface SituationAnswer {
  question: string;
  answer: string;
}

export interface SituationInput {
  situation: string;
  model: string;
}

export interface SpeakerSelected {
  type: "speaker_selected";
  run: string;
  seq: number;
  at: number;
  cache_key: string;
  model: string;
  usage: Usage;
  cost_usd: number | null;
  turn: number;
  next: string;
  reason: string;
  decided_by: "model" | "rules";
}

export interface Spending {
  calls: number;
  input: number;
  output: number;
  reasoning: number;
  cached: number;
  cache_written: number;
  estimated: boolean;
  cost_usd: number;
  unpriced_calls: number;
}

export interface SpendingItem {
  calls: number;
  input: number;
  output: number;
  reasoning: number;
  cached: number;
  cache_written: number;
  estimated: boolean;
  cost_usd: number;
  unpriced_calls: number;
  key: string | null;
  title: string | null;
}

export interface Spotlight {
  name: "spotlight";
  elementId: string;
  dimOpacity: number;
}

export interface StageStarted {
  type: "stage_started";
  run: string;
  seq: number;
  at: number;
  stage: string;
  round: number;
}

export interface StartedRun {
  discussion: Discussion;
  message: Message | null;
  run: Run;
}

export interface StopRequest {
  participant?: string | null;
}

export interface StoredFile {
  id: string;
  name: string;
  media_type: string;
  size: number;
  created_at: number;
}

export interface StoredToolServer {
  name: string;
  url: string;
  created_at: number;
}

export interface SuggestionRequest {
  situation: string;
  model: string;
  answers?: readonly SituationAnswer[];
}

export interface SuggestionsEnded {
  type: "done";
  proposals: number;
  dropped: readonly RejectedProposal[];
  model: string;
  usage: Usage;
  cost_usd: number | null;
  message: string;
}

export interface SuggestionsStarted {
  type: "proposing";
  model: string;
}

export interface SummaryMade {
  type: "summary";
  run: string;
  seq: number;
  at: number;
  cache_key: string;
  model: string;
  usage: Usage;
  cost_usd: number | null;
  summary: DebateSummary;
}

export interface TableSummary {
  agreements: readonly string[];
  disagreements: readonly string[];
  convergence_summary: string;
}

export interface Text {
  type: "text";
  text: string;
}

export interface TextDelta {
  type: "text_delta";
  run: string;
  seq: number;
  at: number;
  participant: string;
  stage: string;
  round: number;
  text: string;
}

export interface TextRetracted {
  type: "text_retracted";
  run: string;
  seq: number;
  at: number;
  participant: string;
  stage: string;
  round: number;
}

export interface Thought {
  type: "thought";
  text: string;
  signature: string;
}

export interface ThoughtDelta {
  type: "thought_delta";
  run: string;
  seq: number;
  at: number;
  participant: string;
  stage: string;
  round: number;
  text: string;
}

export interface Token {
  id: string;
  name: string;
  created_at: number;
}

export interface TokenRate {
  characters_per_token: number;
  tokens: number;
}

export interface TokenWithSecret {
  id: string;
  name: string;
  created_at: number;
  secret: string;
}

export interface Tool {
  name: string;
  description: string;
  parameters: unknown;
}

export interface ToolCall {
  type: "tool_call";
  id: string;
  name: string;
  arguments: string;
  signature: string;
}

export interface ToolCalled {
  type: "tool_call";
  run: string;
  seq: number;
  at: number;
  participant: string;
  stage: string;
  round: number;
  call_id: string;
  name: string;
  arguments: string;
}

export interface ToolResult {
  type: "tool_result";
  call_id: string;
  name: string;
  content: string;
  is_error: boolean;
}

export interface ToolReturned {
  type: "tool_result";
  run: string;
  seq: number;
  at: number;
  participant: string;
  stage: string;
  round: number;
  call_id: string;
  name: string;
  content: string;
  is_error: boolean;
  seconds: number;
}

export interface ToolUse {
  call_id: string;
  name: string;
  arguments: string;
  content: string;
  is_error: boolean;
  seconds: number;
  text_offset: number;
}

export interface TranscriptDocument {
  moot: number;
  discussion: Discussion;
  messages: readonly Message[];
  versions: readonly Message[];
  runs: readonly RunReport[];
  files: readonly StoredFile[];
  whiteboard: Board;
}

export interface TurnEnded {
  type: "turn_ended";
  run: string;
  seq: number;
  at: number;
  participant: string;
  stage: string;
  round: number;
  status: "completed" | "failed" | "interrupted" | "partial" | "stopped";
  message: Answer;
  model: string;
  usage: Usage;
  cost_usd: number | null;
  finish_reason: "content_filter" | "length" | "stop" | "tool_calls" | null;
  fault: Fault | null;
  first_token_seconds: number | null;
  latency_seconds: number;
}

export interface TurnStarted {
  type: "turn_started";
  run: string;
  seq: number;
  at: number;
  participant: string;
  stage: string;
  round: number;
  attempt: number;
  model: string;
}

export interface Usage {
  type: "usage";
  input: number;
  output: number;
  reasoning: number;
  cached: number;
  cache_written: number;
  estimated: boolean;
}

export interface UsageReport {
  since: string;
  until: string;
  by: "day" | "discussion" | "model" | "purpose";
  total: Spending;
  rows: readonly SpendingItem[];
}

export interface Verdict {
  passed: boolean;
  reason: string;
}

export interface VersionSelection {
  version: string;
}

export interface Versions {
  current: string;
  versions: readonly Message[];
}

export interface VoteCast {
  type: "vote";
  run: string;
  seq: number;
  at: number;
  cache_key: string;
  model: string;
  usage: Usage;
  cost_usd: number | null;
  participant: string;
  ranking: readonly (readonly string[])[];
}

export type Event = RunStarted | StageStarted | TurnStarted | TextDelta | ThoughtDelta | TextRetracted | ToolCalled | ApprovalRequested | ApprovalResolved | ToolReturned | ActionTaken | ActionRejected | Notice | TurnEnded | InstructionsSent | AgreementChecked | SummaryMade | ClaimsExtracted | VoteCast | RankingMade | SpeakerSelected | ReferenceSummarized | RunEnded;

export type Change = Activity | DiscussionChanged | DiscussionDeleted;

export const COLOURS: readonly string[] = ["#2f7d80", "#b4532a", "#6a5acd", "#a07a12", "#b03a6b", "#3f7f3f", "#3a6fb5", "#8a5a44"];

export const REFUSED = "The person refused this call. Do not try it again; go on without it.";

export interface ModeSpec {
  title: string;
  summary: string;
  page_layout: "advice" | "answers" | "debate" | "lesson" | "rounds";
  stages: readonly string[];
  min_participants: number;
  only_first: boolean;
  simultaneous: boolean;
  knows_others: boolean;
  in_rounds: boolean;
  in_lanes: boolean;
  is_costly: boolean;
  private_threads: boolean;
  has_roles: boolean;
  has_whiteboard: boolean;
  continues: "as_itself" | "in_turn" | "never";
}

export const MODE_NAMES: readonly Preset["mode"][] = ["single", "parallel", "consensus", "debate", "advisors", "directed"];

export const MODES: Readonly<Record<string, ModeSpec>> = {
  single: {"title": "Single", "summary": "You and one model, back and forth.", "page_layout": "answers", "stages": ["answer"], "min_participants": 1, "only_first": true, "simultaneous": false, "knows_others": false, "in_rounds": false, "in_lanes": false, "is_costly": false, "private_threads": false, "has_roles": false, "has_whiteboard": false, "continues": "in_turn"},
  parallel: {"title": "Side by side", "summary": "All answer at once, without seeing each other.", "page_layout": "answers", "stages": ["answer"], "min_participants": 1, "only_first": false, "simultaneous": true, "knows_others": false, "in_rounds": false, "in_lanes": false, "is_costly": false, "private_threads": false, "has_roles": false, "has_whiteboard": false, "continues": "in_turn"},
  consensus: {"title": "Consensus", "summary": "They answer in rounds, and read each other in between.", "page_layout": "rounds", "stages": ["round"], "min_participants": 2, "only_first": false, "simultaneous": false, "knows_others": true, "in_rounds": true, "in_lanes": false, "is_costly": false, "private_threads": false, "has_roles": false, "has_whiteboard": false, "continues": "in_turn"},
  debate: {"title": "Debate", "summary": "Each answers alone, then argues with the others; one sums up.", "page_layout": "debate", "stages": ["initial", "debate", "synthesis"], "min_participants": 2, "only_first": false, "simultaneous": true, "knows_others": true, "in_rounds": false, "in_lanes": true, "is_costly": true, "private_threads": false, "has_roles": false, "has_whiteboard": false, "continues": "in_turn"},
  advisors: {"title": "Advisors", "summary": "Each talks with you in its own thread, and asks before it advises.", "page_layout": "advice", "stages": ["answer", "cross_talk", "synthesis"], "min_participants": 1, "only_first": false, "simultaneous": true, "knows_others": true, "in_rounds": false, "in_lanes": false, "is_costly": false, "private_threads": true, "has_roles": false, "has_whiteboard": false, "continues": "never"},
  directed: {"title": "Lesson", "summary": "A director picks one speaker at a time; all share a whiteboard.", "page_layout": "lesson", "stages": ["turn"], "min_participants": 1, "only_first": false, "simultaneous": false, "knows_others": true, "in_rounds": false, "in_lanes": false, "is_costly": false, "private_threads": false, "has_roles": true, "has_whiteboard": true, "continues": "as_itself"},
  continue: {"title": "", "summary": "", "page_layout": "rounds", "stages": ["continue"], "min_participants": 1, "only_first": false, "simultaneous": false, "knows_others": false, "in_rounds": false, "in_lanes": false, "is_costly": false, "private_threads": false, "has_roles": false, "has_whiteboard": false, "continues": "in_turn"},
};

export interface Calls {
  "GET /api/activity": { takes: null; gives: readonly ActiveDiscussion[] };
  "GET /api/budget": { takes: null; gives: Budget };
  "POST /api/budget/reset": { takes: null; gives: Budget };
  "GET /api/discussions": { takes: null; gives: DiscussionPage };
  "POST /api/discussions": { takes: DiscussionDraft; gives: StartedRun };
  "DELETE /api/discussions/{id}": { takes: null; gives: null };
  "GET /api/discussions/{id}": { takes: null; gives: DiscussionDetail };
  "PATCH /api/discussions/{id}": { takes: DiscussionChange; gives: Discussion };
  "POST /api/discussions/{id}/archive": { takes: null; gives: Discussion };
  "POST /api/discussions/{id}/continue": { takes: ContinueRequest | null; gives: AcceptedRun };
  "POST /api/discussions/{id}/export": { takes: KnowledgeRequest | null; gives: ExportResult };
  "GET /api/discussions/{id}/insights": { takes: null; gives: InsightPage };
  "POST /api/discussions/{id}/messages": { takes: MessageDraft; gives: AcceptedRun };
  "GET /api/discussions/{id}/transcript.html": { takes: null; gives: null };
  "GET /api/discussions/{id}/transcript.json": { takes: null; gives: TranscriptDocument };
  "GET /api/discussions/{id}/transcript.md": { takes: null; gives: null };
  "PATCH /api/discussions/{id}/turns/{turn}": { takes: MessageEdit; gives: Message };
  "GET /api/discussions/{id}/turns/{turn}/prompt": { takes: null; gives: ModelRequest };
  "GET /api/discussions/{id}/turns/{turn}/prompt/parts": { takes: null; gives: PromptParts };
  "POST /api/discussions/{id}/turns/{turn}/regenerate": { takes: RegenerateRequest | null; gives: AcceptedRun };
  "POST /api/discussions/{id}/turns/{turn}/select": { takes: VersionSelection; gives: Message };
  "GET /api/discussions/{id}/turns/{turn}/versions": { takes: null; gives: Versions };
  "GET /api/discussions/{id}/whiteboard": { takes: null; gives: Board };
  "GET /api/discussions/{id}/whiteboard.png": { takes: null; gives: unknown };
  "GET /api/discussions/{id}/whiteboard.svg": { takes: null; gives: null };
  "POST /api/estimate": { takes: EstimateRequest; gives: Estimate };
  "GET /api/evaluations/{id}": { takes: null; gives: Evaluation };
  "POST /api/evaluations/{id}/apply": { takes: null; gives: Evaluation };
  "POST /api/evaluations/{id}/improve": { takes: null; gives: ImprovementStarted | PersonaRewritten | RoundAnswered | RoundEnded | ImprovementEnded };
  "POST /api/evaluations/{id}/undo": { takes: null; gives: Evaluation };
  "GET /api/events": { takes: null; gives: Activity | DiscussionChanged | DiscussionDeleted | RunStarted | StageStarted | TurnStarted | TextDelta | ThoughtDelta | TextRetracted | ToolCalled | ApprovalRequested | ApprovalResolved | ToolReturned | ActionTaken | ActionRejected | Notice | TurnEnded | InstructionsSent | AgreementChecked | SummaryMade | ClaimsExtracted | VoteCast | RankingMade | SpeakerSelected | ReferenceSummarized | RunEnded | Resync };
  "POST /api/files": { takes: FormData; gives: StoredFile };
  "DELETE /api/files/{id}": { takes: null; gives: null };
  "GET /api/files/{id}": { takes: null; gives: StoredFile };
  "GET /api/files/{id}/content": { takes: null; gives: null };
  "DELETE /api/keys/{provider}": { takes: null; gives: null };
  "PUT /api/keys/{provider}": { takes: NewKey; gives: null };
  "POST /api/login": { takes: Login; gives: Me };
  "POST /api/logout": { takes: null; gives: null };
  "GET /api/me": { takes: null; gives: Me };
  "GET /api/messages/{id}/evaluations": { takes: null; gives: readonly Evaluation[] };
  "POST /api/messages/{id}/evaluations": { takes: AssertionsInput; gives: EvaluationResult };
  "GET /api/models": { takes: null; gives: readonly ProviderModels[] };
  "POST /api/persona-suggestions": { takes: SuggestionRequest; gives: SuggestionsStarted | PersonaSuggested | SuggestionsEnded };
  "POST /api/persona-suggestions/questions": { takes: SituationInput; gives: ClarifyingQuestions };
  "GET /api/personas": { takes: null; gives: PersonaPage };
  "POST /api/personas": { takes: PersonaDraft; gives: Persona };
  "DELETE /api/personas/{id}": { takes: null; gives: null };
  "GET /api/personas/{id}": { takes: null; gives: Persona };
  "PATCH /api/personas/{id}": { takes: PersonaChange; gives: Persona };
  "GET /api/presets": { takes: null; gives: PresetPage };
  "POST /api/presets": { takes: PresetDraft; gives: Preset };
  "DELETE /api/presets/{id}": { takes: null; gives: null };
  "GET /api/presets/{id}": { takes: null; gives: Preset };
  "PATCH /api/presets/{id}": { takes: PresetChange; gives: Preset };
  "GET /api/projects": { takes: null; gives: ProjectPage };
  "POST /api/projects": { takes: ProjectDraft; gives: Project };
  "DELETE /api/projects/{id}": { takes: null; gives: null };
  "GET /api/projects/{id}": { takes: null; gives: Project };
  "PATCH /api/projects/{id}": { takes: ProjectChange; gives: Project };
  "POST /api/projects/{id}/consolidate": { takes: KnowledgeRequest | null; gives: ConsolidationResult };
  "GET /api/projects/{id}/insights": { takes: null; gives: InsightPage };
  "GET /api/projects/{id}/patterns": { takes: null; gives: ProjectPatterns };
  "GET /api/projects/{id}/posts": { takes: null; gives: PostPage };
  "POST /api/projects/{id}/posts": { takes: PostDraft; gives: Post };
  "DELETE /api/projects/{id}/posts/{post_id}": { takes: null; gives: null };
  "PATCH /api/projects/{id}/posts/{post_id}": { takes: PostChange; gives: Post };
  "GET /api/providers": { takes: null; gives: readonly ProviderStatus[] };
  "GET /api/runs/{id}": { takes: null; gives: RunReport };
  "POST /api/runs/{id}/approvals/{call}": { takes: ApprovalDecisionBody; gives: null };
  "GET /api/runs/{id}/events": { takes: null; gives: RunStarted | StageStarted | TurnStarted | TextDelta | ThoughtDelta | TextRetracted | ToolCalled | ApprovalRequested | ApprovalResolved | ToolReturned | ActionTaken | ActionRejected | Notice | TurnEnded | InstructionsSent | AgreementChecked | SummaryMade | ClaimsExtracted | VoteCast | RankingMade | SpeakerSelected | ReferenceSummarized | RunEnded | Resync };
  "GET /api/runs/{id}/lanes/{participant}/messages": { takes: null; gives: LaneThread };
  "POST /api/runs/{id}/lanes/{participant}/retry": { takes: RetryRequest | null; gives: Run };
  "POST /api/runs/{id}/lanes/{participant}/stop": { takes: null; gives: Run };
  "POST /api/runs/{id}/retry-failed": { takes: null; gives: Run };
  "POST /api/runs/{id}/stop": { takes: StopRequest | null; gives: Run };
  "GET /api/tokens": { takes: null; gives: readonly Token[] };
  "POST /api/tokens": { takes: NewToken; gives: TokenWithSecret };
  "DELETE /api/tokens/{id}": { takes: null; gives: null };
  "GET /api/tool-servers": { takes: null; gives: readonly StoredToolServer[] };
  "DELETE /api/tool-servers/{name}": { takes: null; gives: null };
  "PUT /api/tool-servers/{name}": { takes: NewToolServer; gives: null };
  "GET /api/tools": { takes: null; gives: readonly ListedServer[] };
  "GET /api/usage": { takes: null; gives: UsageReport };
}
