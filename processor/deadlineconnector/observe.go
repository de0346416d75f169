package deadlineconnector

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/internal/hop"
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

// observation is what one span says about one place; its values lie in the batch. Labels are cut, and may not be clean.
type observation struct {
	place    place
	hash     uint64
	group    *group
	start    int64 // of the first series of the group; reading it brings the series near
	from, to int32
	note     int32
	next     int32 // of the same shard, or none
}

// note is what is known of one span.
type note struct {
	identity uint64
	n        uint64 // how many spans it stands for
	trace    pcommon.TraceID
	span     pcommon.SpanID
	counts   bool // it says something
	again    bool
}

// batch is what one request says. It is judged without a lock, and counted under those of the shards.
type batch struct {
	notes        []note
	observations []observation
	values       []value
	bones        []bone // one for each note, or none at all
	touched      uint64
	unclean      []int32
	// shards are the lists of observations.
	shards    [shards]struct{ first, last int32 }
	invalid   int64 // spans that end before they start
	old       int64 // spans that ended before oldest, which is 0 if any age counts
	oldest    int64
	skeletons bool
	ids       *identifier
	sheet     sheet
}

func newBatch(ids *identifier, skeletons bool) *batch {
	b := &batch{ids: ids, skeletons: skeletons}
	b.reset()
	return b
}

// reset forgets the request, so that nothing of it stays in memory.
func (b *batch) reset() {
	clear(b.observations)
	clear(b.values)
	clear(b.bones)
	b.notes, b.observations, b.values, b.bones, b.unclean = b.notes[:0], b.observations[:0], b.values[:0], b.bones[:0], b.unclean[:0]
	b.invalid, b.old, b.sheet = 0, 0, emptySheet
	for i := range b.shards {
		b.shards[i].first = none
	}
}

func (b *batch) put(m metricID, label string, amount float64, miss bool) {
	b.values = append(b.values, value{m, miss, cut(label), amount})
}

// resource is what the spans of one resource have in common.
type resource struct {
	service, clock  string
	hash, clockHash uint64
}

// observe notes what one span says.
func (b *batch) observe(in ptrace.Span, r *resource) {
	// Most spans inside a process have no facts, most between processes have.
	crosses := pspan.Crosses(in.Kind())
	if !crosses && !pspan.HasFacts(in.Attributes()) {
		return
	}
	s := &b.sheet
	ours := s.read(in)
	if !ours && !b.skeletons {
		return
	}
	if s.facts.End < b.oldest && s.facts.Start < b.oldest {
		b.old++
		return
	}
	v := verdict.JudgeFacts(&s.facts)
	key := b.ids.span(in.TraceID(), in.SpanID())
	n := note{identity: b.ids.identity(key, r.hash, in.Kind()), n: times(in), trace: in.TraceID(), span: in.SpanID()}
	if ours {
		before := len(b.observations)
		b.measure(s, &v, r)
		n.counts = len(b.observations) > before
	}
	if b.skeletons {
		b.bones = append(b.bones, b.skeleton(in, s, &v, r, key, n.n))
	}
	b.notes = append(b.notes, n)
}

// measure notes the observations of a span with facts.
func (b *batch) measure(s *sheet, v *verdict.SpanVerdict, r *resource) {
	invalid := s.facts.End < s.facts.Start
	if invalid {
		b.invalid++
	}
	from := len(b.values)
	if v.Entry {
		b.entry(s, v, invalid)
		b.either(s, v, invalid)
	}
	if len(b.values) > from {
		b.close(place{service: r.service, route: cut(s.names.Route())}, r, from)
	}
	from = len(b.values)
	b.hop(s)
	if !v.Entry {
		b.either(s, v, invalid)
	}
	if len(b.values) > from {
		b.close(place{service: r.service, stage: cut(s.names.StageOrName()), peer: cut(s.names.Peer())}, r, from)
	}
}

// close makes an observation of the values since from.
func (b *batch) close(p place, r *resource, from int) {
	at := int32(len(b.observations))
	hash := b.ids.place(&p, r.hash)
	b.observations = append(b.observations, observation{place: p, hash: hash, from: int32(from), to: int32(len(b.values)), note: int32(len(b.notes)), next: none})
	list := &b.shards[shardOf(hash)]
	if list.first == none {
		list.first = at
	} else {
		b.observations[list.last].next = at
	}
	list.last = at
}

// entry notes what is about requests. What would be derived from times that contradict each other is left out.
func (b *batch) entry(s *sheet, v *verdict.SpanVerdict, invalid bool) {
	if budgeted := v.HasBudget || v.Exhausted && s.requested; budgeted {
		b.put(mRequests, string(v.Outcome), 1, false)
		if v.Answered && v.Late {
			b.put(mLate, "", 1, true)
		}
		if v.Exhausted {
			b.put(mExhausted, "", 1, true)
		}
		if v.Answered && !v.Late && (v.Outcome == budgetattr.OutcomeDegraded || v.Outcome == budgetattr.OutcomePartial) {
			b.put(mDegraded, "", 1, false)
		}
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
	if s.lateResults > 0 {
		b.put(mLateResults, "", float64(min(s.lateResults, maxCount)), false)
	}
	if d := s.localBeforeFirstCall; d != verdict.Absent && d >= 0 {
		b.put(mLocalBeforeFirstCall, "", time.Duration(d).Seconds(), false)
	}
	if v.Outcome == budgetattr.OutcomeRejected && !v.Cause.Benign() {
		b.put(mRefused, "", 1, true)
	}
}

// hop notes what is about hops.
func (b *batch) hop(s *sheet) {
	if s.decision != "" {
		b.put(mStageDecisions, s.decision, 1, false)
		if budgetattr.Decision(s.decision) == budgetattr.DecisionReject {
			b.put(mRefused, "", 1, true)
		}
	}
	if s.before != verdict.Absent {
		b.put(mRemainingAdmission, "", time.Duration(max(s.before, 0)).Seconds(), false)
	}
	if s.attempt > 0 {
		b.put(mAttempts, s.layer, 1, false)
	}
	if s.skipped > 0 {
		b.put(mRetriesSkipped, s.reason, float64(min(s.skipped, maxCount)), false)
	}
	if s.state == string(budgetattr.EffectUncertain) {
		b.put(mEffectsUncertain, "", 1, true)
	}
}

// either notes what is about entries and hops alike.
func (b *batch) either(s *sheet, v *verdict.SpanVerdict, invalid bool) {
	cause := string(v.Cause)
	if cause != "" {
		b.put(mCancellations, cause, 1, true)
		if s.confirmed {
			b.put(mCancellationsConfirmed, cause, 1, false)
		}
	}
	if v.Phase != "" {
		b.put(mTimeouts, string(v.Phase), 1, true)
	}
	if v.HasPostCancel && !(invalid && v.PostCancelInferred) {
		b.put(mPostCancelTime, cause, v.PostCancel.Seconds(), v.PostCancel > 0)
	}
	if s.cost > 0 {
		unit, cost := s.unit, min(s.cost, maxCost)
		b.put(mPostCancelCost, unit, cost, true)
		switch v.Cause {
		case budgetattr.CauseLocalDeadline, budgetattr.CauseUpstreamDeadline, budgetattr.CauseExpiry:
			b.put(mCostAfterDeadline, unit, cost, true)
		}
	}
}

// What one span can claim is bounded, so that no sum leaves its numbers.
const (
	maxCost   = 1e15
	maxCount  = 1 << 20
	maxWeight = 1 << 20
)

// times returns how many spans a sampled one stands for. What is no whole number is rounded up or down by the span's id, which
// is random, so that counts are right on average, and the same for a span that comes twice.
func times(in ptrace.Span) uint64 {
	state := in.TraceState().AsRaw()
	if state == "" {
		return 1
	}
	weight := min(hop.Weight(state), maxWeight)
	whole, part := math.Modf(weight)
	id := in.SpanID()
	if part > 0 && float64(half(id[:])>>11)/(1<<53) < part {
		whole++
	}
	return max(uint64(whole), 1)
}

// maxText bounds the text of a label, in bytes.
const maxText = 128

// cut cuts a label.
func cut(s string) string {
	if len(s) > maxText {
		return s[:maxText]
	}
	return s
}

// text returns a label that can be exported.
func text(s string) string {
	s = cut(s)
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
