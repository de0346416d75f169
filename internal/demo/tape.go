package demo

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// network is how long a message takes from one service to another in the sample history.
const network = 300 * time.Microsecond

// tape draws one trace of the sample history. Times are offsets from its start. All of it follows from the key, so that the
// same trace drawn again has the same ids and times.
type tape struct {
	key   [sha256.Size]byte
	start time.Time
	made  uint64
	spans map[string][]*tracepb.Span // by service
}

func newTape(key [sha256.Size]byte, start time.Time) *tape {
	return &tape{key: key, start: start, spans: map[string][]*tracepb.Span{}}
}

// number seeds the latencies of the trace.
func (t *tape) number() uint64 { return binary.BigEndian.Uint64(t.key[16:]) }

func (t *tape) span(service, name string, kind tracepb.Span_SpanKind, parent []byte, at time.Duration) *tracepb.Span {
	t.made++
	id := sha256.Sum256(binary.BigEndian.AppendUint64(t.key[:], t.made))
	s := &tracepb.Span{TraceId: t.key[:16], SpanId: id[:8], ParentSpanId: parent, Name: name, Kind: kind,
		StartTimeUnixNano: t.nanos(at), Flags: 1}
	t.spans[service] = append(t.spans[service], s)
	return s
}

func (t *tape) nanos(at time.Duration) uint64 { return uint64(t.start.Add(at).UnixNano()) }

// frame is one service at work on the request.
type frame struct {
	*tape
	service  string
	span     *tracepb.Span
	start    time.Duration
	deadline time.Duration
	called   bool
	degraded bool
}

// spend returns when work of about this length that begins at at is over.
func (f *frame) spend(at time.Duration, name string, median time.Duration) time.Duration {
	return at + latency(f.number(), name, median)
}

// serve draws an entry span; work returns when the answer is ready. It returns when the answer goes out and whether there
// is one.
func (t *tape) serve(service, route string, parent []byte, at, budget time.Duration, source budgetattr.Source,
	work func(*frame) (end time.Duration, ok bool)) (time.Duration, bool) {
	f := &frame{tape: t, service: service, start: at, deadline: at + budget}
	f.span = t.span(service, "POST "+route, tracepb.Span_SPAN_KIND_SERVER, parent, at)
	end, ok := work(f)
	cut := end > f.deadline
	if cut {
		end, ok = f.deadline, false
	}
	outcome, status := budgetattr.OutcomeDone, int64(200)
	switch {
	case !ok:
		outcome, status = budgetattr.OutcomeCancelled, 504
		cause := budgetattr.CauseUpstreamDeadline
		if source == budgetattr.SourceDefault || !cut {
			cause = budgetattr.CauseLocalDeadline
		}
		f.span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "budget exhausted"}
		set(f.span, text(budgetattr.CancelCauseKey, string(cause)))
	case f.degraded:
		outcome = budgetattr.OutcomeDegraded
	}
	f.span.EndTimeUnixNano = t.nanos(end)
	set(f.span,
		text("http.request.method", "POST"), text("http.route", route), integer("http.response.status_code", status),
		seconds(budgetattr.BudgetReceivedKey, budget), text(budgetattr.BudgetSourceKey, string(source)),
		text(budgetattr.GovernedByKey, string(budgetattr.GovernedByDeadline)), text(budgetattr.ModeKey, string(budgetattr.ModeEnforce)),
		text(budgetattr.OutcomeKey, string(outcome)), seconds(budgetattr.MarginKey, f.deadline-end),
		boolean(budgetattr.LateKey, false), integer(budgetattr.OpenChildrenKey, 0))
	if source == budgetattr.SourceCaller {
		set(f.span, seconds(budgetattr.BudgetRequestedKey, budget))
	}
	if ok {
		set(f.span, text(budgetattr.MarginAtKey, string(budgetattr.TargetComplete)))
	}
	return end, ok
}

// hop draws the client span of a stage around what work draws within the allowance. It returns when the call ends and
// whether it was answered; a hop that does not fit is cut.
func (f *frame) hop(st stage, at time.Duration, work func(span *tracepb.Span, allowance time.Duration) (end time.Duration, ok bool)) (time.Duration, bool) {
	if !f.called {
		f.called = true
		set(f.span, seconds(budgetattr.LocalBeforeFirstCallKey, at-f.start))
	}
	before := f.deadline - at
	allowance, binding := before, budgetattr.BindingBudget
	if st.cap < before {
		allowance, binding = st.cap, budgetattr.BindingCap
	}
	s := f.tape.span(f.service, st.name, tracepb.Span_SPAN_KIND_CLIENT, f.span.SpanId, at)
	end, ok := work(s, allowance)
	if end > at+allowance {
		end, ok = at+allowance, false
	}
	s.EndTimeUnixNano = f.nanos(end)
	set(s,
		text("peer.service", st.peer), text(budgetattr.StageKey, st.name), boolean(budgetattr.StageOptionalKey, st.optional),
		seconds(budgetattr.RemainingBeforeKey, before), seconds(budgetattr.RemainingAfterKey, f.deadline-end),
		seconds(budgetattr.AllowanceKey, allowance), seconds(budgetattr.CapKey, st.cap), text(budgetattr.BindingKey, string(binding)),
		text(budgetattr.DecisionKey, string(budgetattr.DecisionRun)))
	if !ok {
		s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "budget exhausted"}
		set(s, text(budgetattr.CancelCauseKey, string(budgetattr.CauseLocalDeadline)), text(budgetattr.TimeoutPhaseKey, string(budgetattr.PhaseFirstByte)),
			seconds(budgetattr.CancelAfterKey, end-at), boolean(budgetattr.CancelConfirmedKey, true), seconds(budgetattr.PostCancelTimeKey, 0))
	}
	return end, ok
}

// call draws a hop to another service, which works within what is left of the allowance.
func (f *frame) call(st stage, route string, at time.Duration, work func(*frame) (time.Duration, bool)) (time.Duration, bool) {
	return f.hop(st, at, func(span *tracepb.Span, allowance time.Duration) (time.Duration, bool) {
		set(span, text("http.request.method", "POST"), boolean(budgetattr.ConnectionReusedKey, true))
		// The remainder on the wire is rounded down to the millisecond.
		handed := allowance.Truncate(time.Millisecond)
		end, ok := f.serve(st.peer, route, span.SpanId, at+network, handed, budgetattr.SourceCaller, work)
		return end + network, ok
	})
}

func set(s *tracepb.Span, kv ...*commonpb.KeyValue) { s.Attributes = append(s.Attributes, kv...) }

func seconds(key string, d time.Duration) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: d.Seconds()}}}
}

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

func integer(key string, value int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}

func boolean(key string, value bool) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: value}}}
}
