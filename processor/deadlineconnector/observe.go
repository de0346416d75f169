package deadlineconnector

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/processor/pspan"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// value is one observation: the amount for a histogram or a sum, how many for a counter. A miss may become an exemplar.
type value struct {
	metric metricID
	miss   bool
	label  string
	amount float64
}

// observation is what one span says about one place; its values lie in the batch.
type observation struct {
	place    place
	from, to int
}

// note is what is known of one span: its observations, and its skeleton in the batch or none.
type note struct {
	identity uint64
	n        uint64 // how many spans it stands for
	trace    pcommon.TraceID
	span     pcommon.SpanID
	from, to int
	bone     int
}

// batch is what one request says. It is judged without the lock and counted under it.
type batch struct {
	notes        []note
	observations []observation
	values       []value
	bones        []bone
	invalid      int64 // spans that end before they start
	old          int64 // spans that ended before oldest, which is 0 if any age counts
	oldest       int64
	skeletons    bool
	ids          *identifier
	reader       reader
}

func (b *batch) reset() {
	clear(b.observations)
	clear(b.values)
	clear(b.bones)
	b.notes, b.observations, b.values, b.bones = b.notes[:0], b.observations[:0], b.values[:0], b.bones[:0]
	b.invalid, b.old = 0, 0
}

func (b *batch) put(m metricID, label string, amount float64, miss bool) {
	b.values = append(b.values, value{m, miss, label, amount})
}

// reader reads what a judgement of one span needs, into the same memory each time.
type reader struct {
	span span.Span
}

// named are the attributes of others that name a route or a peer.
func named(key string) bool {
	switch key {
	case "http.route", "rpc.method", "rpc.service", "peer.service", "server.address", "net.peer.name",
		"messaging.destination.name", "db.system.name", "db.system":
		return true
	}
	return false
}

// read returns the span, and whether it carries facts of ours. Without them it is read only if all are asked for.
func (r *reader) read(in ptrace.Span, all bool) (s *span.Span, facts bool) {
	attrs := in.Attributes()
	for key := range attrs.All() {
		if strings.HasPrefix(key, budgetattr.Prefix) {
			facts = true
			break
		}
	}
	if !facts && !all {
		return nil, false
	}
	s = &r.span
	if s.Attrs == nil {
		s.Attrs = make(span.Attributes, 32)
	}
	clear(s.Attrs)
	for key, v := range attrs.All() {
		if !strings.HasPrefix(key, budgetattr.Prefix) && !named(key) {
			continue
		}
		switch v.Type() {
		case pcommon.ValueTypeStr:
			s.Attrs[key] = v.Str()
		case pcommon.ValueTypeInt:
			s.Attrs[key] = v.Int()
		case pcommon.ValueTypeDouble:
			s.Attrs[key] = v.Double()
		case pcommon.ValueTypeBool:
			s.Attrs[key] = v.Bool()
		}
	}
	s.Trace, s.ID, s.Parent = span.TraceID(in.TraceID()), span.ID(in.SpanID()), span.ID(in.ParentSpanID())
	s.Name, s.Kind, s.Status = in.Name(), span.Kind(in.Kind()), span.Status(in.Status().Code())
	s.Start, s.End = int64(in.StartTimestamp()), int64(in.EndTimestamp())
	return s, facts
}

// resource is what the spans of one resource have in common.
type resource struct {
	service, clock string
	hash           uint64
}

// observe notes what one span says.
func (b *batch) observe(in ptrace.Span, r *resource) {
	hop := b.skeletons && pspan.Crosses(in.Kind())
	s, facts := b.reader.read(in, hop)
	if s == nil {
		return
	}
	if s.End < b.oldest && s.Start < b.oldest {
		b.old++
		return
	}
	v := verdict.JudgeSpan(s)
	key := b.ids.span(in.TraceID(), in.SpanID())
	n := note{identity: b.ids.identity(key, r.hash, in.Kind()), n: times(in), trace: in.TraceID(), span: in.SpanID(), from: len(b.observations), bone: none}
	if facts {
		b.measure(s, &v, r.service)
	}
	n.to = len(b.observations)
	if b.skeletons {
		n.bone = len(b.bones)
		b.bones = append(b.bones, b.skeleton(in, s, &v, r, key, n.n))
	}
	b.notes = append(b.notes, n)
}

// measure notes the observations of a span with facts.
func (b *batch) measure(s *span.Span, v *verdict.SpanVerdict, service string) {
	invalid := s.End < s.Start
	if invalid {
		b.invalid++
	}
	from := len(b.values)
	if v.Entry {
		b.entry(s, v, invalid)
		b.either(s, v, invalid)
	}
	if len(b.values) > from {
		b.observations = append(b.observations, observation{place{service: service, route: text(verdict.RouteOf(s))}, from, len(b.values)})
	}
	from = len(b.values)
	b.hop(s)
	if !v.Entry {
		b.either(s, v, invalid)
	}
	if len(b.values) > from {
		at := place{service: service, stage: text(verdict.StageOf(s)), peer: text(verdict.PeerOf(s))}
		b.observations = append(b.observations, observation{at, from, len(b.values)})
	}
}

// entry notes what is about requests. What would be derived from times that contradict each other is left out.
func (b *batch) entry(s *span.Span, v *verdict.SpanVerdict, invalid bool) {
	if budgeted := v.HasBudget || v.Exhausted && s.Attrs.Has(budgetattr.BudgetRequestedKey); budgeted {
		b.put(mRequests, string(v.Outcome), 1, false)
		b.count(mLate, "", v.Answered && v.Late)
		b.count(mExhausted, "", v.Exhausted)
	}
	if v.HasBudget && v.Answered && v.HasMargin && !(invalid && v.MarginInferred) {
		margin := v.Margin.Seconds()
		b.put(mMargin, "", max(margin, 0), false)
		b.put(mOverrun, "", max(-margin, 0), margin < 0)
		if v.HasRatio {
			b.put(mUsedRatio, "", max(v.Ratio, 0), false)
		}
	}
	if v.Outcome == budgetattr.OutcomeExpiredInQueue {
		b.put(mExpiredInQueue, "", 1, true)
	}
	if v.Source == budgetattr.SourceRegrant {
		b.put(mRegrants, "", 1, false)
	}
	if n, ok := s.Attrs.Int(budgetattr.LateResultsKey); ok && n > 0 {
		b.put(mLateResults, "", float64(min(n, 1<<20)), false)
	}
	if d, ok := s.Attrs.Seconds(budgetattr.LocalBeforeFirstCallKey); ok && d >= 0 {
		b.put(mLocalBeforeFirstCall, "", d.Seconds(), false)
	}
	if v.Outcome == budgetattr.OutcomeRejected && !v.Cause.Benign() {
		b.put(mRefused, "", 1, true)
	}
}

// count notes a miss, or that there was none: a series of misses exists from the first request on.
func (b *batch) count(m metricID, label string, missed bool) {
	amount := 0.0
	if missed {
		amount = 1
	}
	b.put(m, label, amount, missed)
}

// hop notes what is about hops.
func (b *batch) hop(s *span.Span) {
	a := s.Attrs
	if decision := a.String(budgetattr.DecisionKey); decision != "" {
		b.put(mStageDecisions, text(decision), 1, false)
		if budgetattr.Decision(decision) == budgetattr.DecisionReject {
			b.put(mRefused, "", 1, true)
		}
	}
	if d, ok := a.Seconds(budgetattr.RemainingBeforeKey); ok {
		b.put(mRemainingAdmission, "", max(d, 0).Seconds(), false)
	}
	if n, ok := a.Int(budgetattr.AttemptKey); ok && n > 0 {
		b.put(mAttempts, text(a.String(budgetattr.AttemptLayerKey)), 1, false)
	}
	if n, ok := a.Int(budgetattr.RetriesSkippedKey); ok && n > 0 {
		b.put(mRetriesSkipped, text(a.String(budgetattr.RetriesSkippedReasonKey)), float64(min(n, 1<<20)), false)
	}
	if a.String(budgetattr.EffectStateKey) == string(budgetattr.EffectUncertain) {
		b.put(mEffectsUncertain, "", 1, true)
	}
}

// either notes what is about entries and hops alike.
func (b *batch) either(s *span.Span, v *verdict.SpanVerdict, invalid bool) {
	a := s.Attrs
	cause := text(string(v.Cause))
	if cause != "" {
		b.put(mCancellations, cause, 1, true)
		if confirmed, ok := a.Bool(budgetattr.CancelConfirmedKey); ok && confirmed {
			b.put(mCancellationsConfirmed, cause, 1, false)
		}
	}
	if v.Phase != "" {
		b.put(mTimeouts, text(string(v.Phase)), 1, true)
	}
	if v.HasPostCancel && !(invalid && v.PostCancelInferred) {
		b.put(mPostCancelTime, cause, v.PostCancel.Seconds(), v.PostCancel > 0)
	}
	if cost, ok := a.Float(budgetattr.PostCancelCostKey); ok && cost > 0 {
		unit := text(a.String(budgetattr.CostUnitKey))
		cost = min(cost, maxCost)
		b.put(mPostCancelCost, unit, cost, true)
		switch v.Cause {
		case budgetattr.CauseLocalDeadline, budgetattr.CauseUpstreamDeadline, budgetattr.CauseExpiry:
			b.put(mCostAfterDeadline, unit, cost, true)
		}
	}
}

// maxCost bounds one span's cost, so that no sum leaves the finite numbers.
const maxCost = 1e15

// times returns how many spans a sampled one stands for. What is no whole number is rounded up or down by the span's id, which
// is random, so that counts are right on average, and the same for a span that comes twice.
func times(in ptrace.Span) uint64 {
	state := in.TraceState().AsRaw()
	if state == "" {
		return 1
	}
	weight := min(hop.Weight(state), maxWeight)
	whole, part := math.Modf(weight)
	if part > 0 && float64(fold(in.SpanID())>>11)/(1<<53) < part {
		whole++
	}
	return max(uint64(whole), 1)
}

// maxWeight bounds what one span can claim to stand for.
const maxWeight = 1 << 20

// fold makes a number of the id.
func fold(id pcommon.SpanID) uint64 {
	var n uint64
	for _, b := range id {
		n = n<<8 | uint64(b)
	}
	return n
}

// maxText bounds the text of a label, in bytes.
const maxText = 128

// text cuts a label.
func text(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

// clock tells nanoseconds since 1970 and never goes back.
type clock struct {
	began time.Time
	wall  int64 // at that time
}

func newClock() clock {
	now := time.Now()
	return clock{now, now.UnixNano()}
}

func (c clock) now() int64 { return c.wall + int64(time.Since(c.began)) }
