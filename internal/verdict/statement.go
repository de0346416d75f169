package verdict

import (
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Statement is the account of one trace: what was granted, what each part took, what was left, who worked for nobody.
// With a budget, Opening minus the amounts of all debit lines is Closing, and Closing is Margin, exact in nanoseconds.
type Statement struct {
	TraceID     string       `json:"trace_id"`
	EntrySpanID string       `json:"entry_span_id"`
	Service     string       `json:"service"`
	Route       string       `json:"route"`
	StartedAt   time.Time    `json:"started_at"`
	Duration    span.Seconds `json:"duration_s"`
	// Complete is false when spans name parents that are not here.
	Complete bool `json:"complete"`
	// Missing is what the source of the spans does not hold, in words; "" for nothing. Set by who read them.
	Missing string `json:"missing,omitempty"`
	// Spans counts each span once, however often it arrived.
	Spans  int               `json:"spans"`
	Budget *Budget           `json:"budget"`
	Target budgetattr.Target `json:"target"`
	Margin *span.Seconds     `json:"margin_s"`
	Late   bool              `json:"late"`
	// Exhausted: ended by its own deadline or expiry, or refused for lack of time, before an answer.
	Exhausted bool               `json:"exhausted"`
	Outcome   budgetattr.Outcome `json:"outcome"`
	Class     Class              `json:"class"`
	// FirstViolation is the earliest finding of severity warn or higher, "" if there is none.
	FirstViolation Rule          `json:"first_violation"`
	Opening        *span.Seconds `json:"opening_s"`
	Closing        *span.Seconds `json:"closing_s"`
	// Orphan sums the topmost orphan spans, each by its best evidence.
	Orphan     span.Seconds       `json:"orphan_s"`
	PostCancel span.Seconds       `json:"post_cancel_s"`
	Costs      map[string]float64 `json:"costs"`
	// SpentIn is the span in which most of the account was spent, found by following the largest debit downwards.
	SpentIn  *Place    `json:"spent_in"`
	Lines    []Line    `json:"lines"`
	Findings []Finding `json:"findings"`
}

// Budget is what the account holder was granted.
type Budget struct {
	Requested  *span.Seconds       `json:"requested_s"`
	Received   span.Seconds        `json:"received_s"`
	Source     budgetattr.Source   `json:"source"`
	GovernedBy budgetattr.Governor `json:"governed_by"`
	// Inferred: derived from what the first call had left, or mapped from an attribute of another system.
	Inferred bool `json:"inferred"`
}

// Place names the span in which time was spent. Amount is that time; it may cover several calls of the same stage and peer, of
// which the span is the longest.
type Place struct {
	SpanID   string       `json:"span_id"`
	Service  string       `json:"service"`
	Stage    string       `json:"stage"`
	Duration span.Seconds `json:"duration_s"`
	Amount   span.Seconds `json:"amount_s"`
	Calls    int          `json:"calls"`
}

// Line is one line of a statement. Debits lower the balance by Amount; memos leave it; lines outside are never part of it.
type Line struct {
	N    int      `json:"n"`
	Kind LineKind `json:"kind"`
	// At counts from the start of the account holder's span.
	At           span.Seconds `json:"at_s"`
	SpanID       string       `json:"span_id"`
	ParentSpanID string       `json:"parent_span_id"`
	Service      string       `json:"service"`
	Stage        string       `json:"stage"`
	Peer         string       `json:"peer"`
	Duration     span.Seconds `json:"duration_s"`
	Amount       span.Seconds `json:"amount_s"`
	// Balance after the line; nil without a budget and outside the balance.
	Balance         *span.Seconds `json:"balance_s"`
	RemainingBefore *span.Seconds `json:"remaining_before_s"`
	RemainingAfter  *span.Seconds `json:"remaining_after_s"`
	// PeerTime is how long the called side worked, Between what the call took beyond it: network, proxies, queues.
	PeerTime *span.Seconds `json:"peer_s"`
	Between  *span.Seconds `json:"between_s"`
	// Estimate is the difference of two machines' clocks, where Amount is the better founded but smaller bound.
	Estimate *span.Seconds       `json:"estimate_s,omitempty"`
	Decision budgetattr.Decision `json:"decision"`
	Phase    budgetattr.Phase    `json:"phase"`
	Cause    budgetattr.Cause    `json:"cause"`
	Attempt  int                 `json:"attempt"`
	Evidence Evidence            `json:"evidence"`
	Inferred bool                `json:"inferred"`
	// IncludedIn is the span whose line of the same kind already counts this one in the totals.
	IncludedIn string `json:"included_in"`
	Text       string `json:"text"`
}

// Finding is one entry of the catalogue that the trace shows.
type Finding struct {
	Rule     Rule     `json:"rule"`
	Severity Severity `json:"severity"`
	SpanID   string   `json:"span_id"`
	// ParentSpanID and Kind complete the identity of the span; a span that never arrived has the kind of a client.
	ParentSpanID string           `json:"parent_span_id"`
	Kind         string           `json:"span_kind"`
	Service      string           `json:"service"`
	Stage        string           `json:"stage"`
	Peer         string           `json:"peer"`
	At           span.Seconds     `json:"at_s"`
	Amount       span.Seconds     `json:"amount_s"`
	Evidence     Evidence         `json:"evidence"`
	Cause        budgetattr.Cause `json:"cause"`
	// IncludedIn: see Line. A finding with it is not summed in totals of the trace.
	IncludedIn string `json:"included_in"`
	// SpentIn is where the time went, for late and exhausted.
	SpentIn *Place `json:"spent_in,omitempty"`
	Text    string `json:"text"`
}

// Class is one of the four kinds of outcome that are never mixed.
type Class string

// The classes.
const (
	ClassLateOrFailed Class = "late_or_failed"
	ClassBenign       Class = "benign"
	ClassDegraded     Class = "degraded"
	ClassInTime       Class = "in_time"
)

// LineKind is the kind of a line.
type LineKind string

// The kinds of lines: debits, memos, lines outside the balance.
const (
	LineQueue       LineKind = "queue"
	LineOwnWork     LineKind = "own_work"
	LineHop         LineKind = "hop"
	LineBackoff     LineKind = "backoff"
	LineCleanup     LineKind = "cleanup"
	LineLimitChange LineKind = "limit_change"

	LineOpening LineKind = "opening"
	LineReserve LineKind = "reserve"
	LineRefund  LineKind = "refund"
	LineClosing LineKind = "closing"

	LineOrphan     LineKind = "orphan"
	LineOverhang   LineKind = "overhang"
	LinePostCancel LineKind = "post_cancel"
	LineLateResult LineKind = "late_result"
	LineDetached   LineKind = "detached"
)

// Debit reports whether lines of the kind lower the balance.
func (k LineKind) Debit() bool {
	switch k {
	case LineQueue, LineOwnWork, LineHop, LineBackoff, LineCleanup, LineLimitChange:
		return true
	}
	return false
}

// Outside reports whether lines of the kind stand outside the balance.
func (k LineKind) Outside() bool {
	switch k {
	case LineOrphan, LineOverhang, LinePostCancel, LineLateResult, LineDetached:
		return true
	}
	return false
}

// Evidence says how a figure is known, best first.
type Evidence string

// The grades of evidence.
const (
	// EvidenceMeasured: by the sdk on one monotonic clock.
	EvidenceMeasured Evidence = "measured"
	// EvidenceSameClock: two times of one machine's clock.
	EvidenceSameClock Evidence = "same_clock"
	// EvidenceBound: at least this much; a difference of two lengths, which no clock offset can fake.
	EvidenceBound Evidence = "bound"
	// EvidenceEstimate: a difference of two machines' clocks.
	EvidenceEstimate Evidence = "estimate"
	// EvidenceMissing: nothing tells how much.
	EvidenceMissing Evidence = "missing"
)

// Firm reports whether no offset between two machines' clocks can change the figure.
func (e Evidence) Firm() bool {
	return e == EvidenceMeasured || e == EvidenceSameClock || e == EvidenceBound
}
