// Generated from sdk/budgetattr by `make generate`.

/** Source says where a granted budget came from. */
export const sourceValues = ['caller', 'default', 'clamped', 'raised', 'envelope', 'regrant', 'refused', 'none'] as const;
export type Source = (typeof sourceValues)[number];

/** Governor says which instant bounded the request: its deadline or a nearer expiry. */
export const governorValues = ['deadline', 'expiry'] as const;
export type Governor = (typeof governorValues)[number];

/** Target says which result a route's budget is about. */
export const targetValues = ['first_output', 'complete', 'validated'] as const;
export type Target = (typeof targetValues)[number];

/** Mode says whether rules act, only watch, or do nothing. */
export const modeValues = ['off', 'shadow', 'enforce'] as const;
export type Mode = (typeof modeValues)[number];

/** Outcome is the readable final state of a unit of work. */
export const outcomeValues = ['done', 'done_with_pending', 'degraded', 'partial', 'rejected', 'expired_in_queue', 'cancelled', 'uncertain', 'failed'] as const;
export type Outcome = (typeof outcomeValues)[number];

/** Binding says which term of the allowance was the smallest. */
export const bindingValues = ['budget', 'cap', 'observed', 'expiry'] as const;
export type Binding = (typeof bindingValues)[number];

/** Decision says what a step did when it met its allowance. */
export const decisionValues = ['run', 'skip', 'fallback', 'shorter_route', 'partial', 'pending', 'reauthorize', 'read_only', 'cancel', 'close', 'reject'] as const;
export type Decision = (typeof decisionValues)[number];

/** Phase names the part of a call in which time ran out. */
export const phaseValues = ['queue', 'pool', 'dns', 'connect', 'tls', 'request', 'first_byte', 'first_token', 'between_tokens', 'body', 'db_execution', 'total'] as const;
export type Phase = (typeof phaseValues)[number];

/** Cause says why work was cancelled. */
export const causeValues = ['client_disconnect', 'local_deadline', 'upstream_deadline', 'upstream_cancel', 'expiry', 'shutdown', 'superseded', 'stream_idle', 'sibling_failed'] as const;
export type Cause = (typeof causeValues)[number];

/** EffectState is the durable state of a write to another system. */
export const effectStateValues = ['planned', 'sent', 'confirmed', 'uncertain', 'reconciled', 'abandoned'] as const;
export type EffectState = (typeof effectStateValues)[number];

/** What each attribute means, by its key. */
export const attributeMeanings: Record<string, string> = {
  'deadline.budget.requested': 'the budget the caller asked for',
  'deadline.budget.received': 'the budget that was granted',
  'deadline.budget.source': 'where the granted budget came from',
  'deadline.governed_by': 'whether the deadline or a nearer expiry governed',
  'deadline.margin': 'what was left of the governing limit when the target was reached; negative means late',
  'deadline.margin.at': 'the target at which the margin was taken',
  'deadline.late': 'the answer came after the governing limit',
  'deadline.used.ratio': 'spent time over received budget; absent when received is zero or less',
  'deadline.mode': 'whether rules acted, watched or were off',
  'deadline.channel': 'the channel of the edge: chat, webhook, batch',
  'deadline.queue.time': 'time waited locally, inside the span',
  'deadline.local.before_first_call': 'own work before the first downstream call',
  'deadline.envelope.wait': 'time waited in a broker; the received budget is already net of it',
  'deadline.payload.class': 'size class of the payload, to compare percentiles by',
  'deadline.region': 'region, to compare percentiles by',
  'deadline.outcome': 'the final state of the unit of work',
  'deadline.open_children': 'hops still running when the response went out',
  'deadline.late_results': 'results refused because the unit was closed',
  'deadline.disconnect.observable': 'false if the server could not have noticed that the client left',
  'deadline.stage': 'the name of the stage in its chain',
  'deadline.stage.optional': 'whether the stage may be skipped',
  'deadline.remaining.before': 'remaining budget just before the call',
  'deadline.remaining.after': 'remaining budget just after the call',
  'deadline.allowance': 'what the hop was allowed to use',
  'deadline.reserve': 'what the hop had to leave for what follows',
  'deadline.cap': 'the dependency\'s own upper bound',
  'deadline.observed_limit': 'the bound derived from measured latency',
  'deadline.min_useful': 'the smallest allowance with which the hop is worth starting',
  'deadline.binding': 'the smallest term of the allowance',
  'deadline.decision': 'what was decided for the step',
  'deadline.attempt': 'the number of this attempt, from 1',
  'deadline.attempt.layer': 'the layer that made the attempt',
  'deadline.attempts.total': 'attempts made over all layers',
  'deadline.backoff': 'accumulated back-off waited',
  'deadline.retries.skipped': 'retries that were not started',
  'deadline.retries.skipped.reason': 'why a retry was not started',
  'deadline.cleanup.time': 'time spent on allowed clean-up after the end',
  'deadline.cleanup.budget': 'the budget of the clean-up',
  'deadline.drain.time': 'time spent on a declared drain after the end',
  'deadline.timeout.phase': 'the phase in which time ran out',
  'deadline.connection.reused': 'whether the connection was reused',
  'deadline.cancel.cause': 'why the work was cancelled',
  'deadline.cancel.after': 'when the cancellation signal fired, from the start of the span',
  'deadline.cancel.confirmed': 'whether the work was seen to stop',
  'deadline.post_cancel.time': 'work done after the cancellation signal, without clean-up and drain',
  'deadline.post_cancel.cost': 'cost units produced after the cancellation signal',
  'deadline.cost.unit': 'the unit of costs, for example token',
  'deadline.detached.id': 'durable id of work declared to outlive its caller',
  'deadline.effect.state': 'the durable state of a write to another system',
  'deadline.effect.key': 'the idempotency key of a write to another system',
  'deadline.first_output.time': 'time to the first visible output',
  'deadline.complete.time': 'time to the complete result',
  'deadline.validated.time': 'time to the validated result',
  'deadline.orphan.time': 'work done after the caller\'s wait had ended',
  'deadline.inferred': 'the facts were derived, not recorded',
  'deadline.inferred.rule': 'the rule that derived the facts',
};
