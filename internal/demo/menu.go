package demo

// Fault is one thing that goes wrong in real systems, played by one of the sample services.
type Fault string

// The faults.
const (
	SlowDependency Fault = "slow_dependency"
	RenewedClock   Fault = "renewed_clock"
	DroppedHeader  Fault = "dropped_header"
	IgnoredCancel  Fault = "ignored_cancel"
	TightBudget    Fault = "tight_budget"
	LocalQueue     Fault = "local_queue"
	ClientLeaves   Fault = "client_leaves"
	RetryStorm     Fault = "retry_storm"
	LateResult     Fault = "late_result"
	Freeze         Fault = "freeze"

	StepSkipped       Fault = "step_skipped"
	ModelDown         Fault = "model_down"
	FirstTokenDelay   Fault = "first_token_delay"
	HeartbeatsOnly    Fault = "heartbeats_only"
	SlowReader        Fault = "slow_reader"
	ShardStraggler    Fault = "shard_straggler"
	RetryAfter        Fault = "retry_after"
	LateFailure       Fault = "late_failure"
	NestedRetries     Fault = "nested_retries"
	TokensAfterCancel Fault = "tokens_after_cancel"
	HopelessStart     Fault = "hopeless_start"
	ReserveEaten      Fault = "reserve_eaten"
	LateValidation    Fault = "late_validation"
	ExpiredInQueue    Fault = "expired_in_queue"
	UncertainEffect   Fault = "uncertain_effect"
	DetachedWork      Fault = "detached_work"
	HopLeftOpen       Fault = "hop_left_open"
)

// menu says who plays which fault, what happens, and at which share of requests by default.
var menu = []struct {
	fault   Fault
	service string
	rate    float64
	about   string
}{
	{SlowDependency, "account", 0.01, "the statement of the account service takes longer than its caller waits"},
	{RenewedClock, "retrieval", 0.01, "retrieval hands rerank a fresh budget instead of what is left"},
	{DroppedHeader, "validator", 0.01, "validator calls account without the header, which falls back to its default"},
	{IgnoredCancel, "rerank", 0.01, "rerank works on after its caller has given up"},
	{TightBudget, "edge", 0.01, "the client asks for less time than the chain needs"},
	{LocalQueue, "edge", 0.01, "the request waits most of its budget in the edge's own queue"},
	{ClientLeaves, "edge", 0.015, "the client closes its connection in the middle"},
	{RetryStorm, "edge", 0.01, "the model refuses, and two layers of the edge retry without a look at the time left"},
	{LateResult, "edge", 0.01, "an optional result arrives after the edge has gone on without it"},
	{Freeze, "model", 0.01, "the model stops in mid-stream and keeps the connection open"},

	{StepSkipped, "retrieval", 0.005, "retrieval is slow, and skips the optional order that would no longer fit"},
	{ModelDown, "model", 0.005, "the model fails for good, and the edge falls back to a brief one"},
	{FirstTokenDelay, "model", 0.005, "the model accepts and brings no token, only heartbeats"},
	{HeartbeatsOnly, "model", 0.005, "the model sends heartbeats instead of further tokens"},
	{SlowReader, "edge", 0.005, "the edge pauses while it reads the stream, which is nobody's timeout"},
	{ShardStraggler, "index", 0.005, "one shard of the index is late, and retrieval answers without it"},
	{RetryAfter, "model", 0.005, "the model asks to be left alone for longer than there is time"},
	{LateFailure, "model", 0.005, "the model fails at the end of its stream, when a retry no longer fits"},
	{NestedRetries, "edge", 0.005, "a client library repeats a refusal by itself, until its attempts are refused"},
	{TokensAfterCancel, "edge", 0.005, "the client leaves and the edge drains the model's stream for its usage"},
	{HopelessStart, "validator", 0.005, "an old client calls account with less time than it needs"},
	{ReserveEaten, "validator", 0.005, "the rules of the validator use time that they had to leave"},
	{LateValidation, "edge", 0.005, "the edge only watches its budget, and finds the answer valid too late"},
	{ExpiredInQueue, "archive", 0.005, "the note of an answer waits in a queue until it has expired"},
	{UncertainEffect, "archive", 0.005, "the archive takes a note and its receipt is lost"},
	{DetachedWork, "edge", 0.005, "the edge goes on with work that is declared to outlive its answer"},
	{HopLeftOpen, "edge", 0.005, "the edge starts work beside the chain and never ends it"},
}
