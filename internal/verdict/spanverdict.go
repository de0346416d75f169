package verdict

import (
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Names of the rules by which one span's facts are derived, as they stand in deadline.inferred.rule.
const (
	InferredMargin     = "margin_from_duration"
	InferredOutcome    = "outcome_from_status"
	InferredPostCancel = "post_cancel_from_duration"
)

// SpanVerdict is what one span's own facts say. Durations are exact; Has… tells an absent fact from a zero.
type SpanVerdict struct {
	// Entry: SERVER, CONSUMER, without parent, or with a received budget. Outcome, Class and what follows is about entries.
	Entry     bool
	HasBudget bool
	Received  time.Duration
	Source    budgetattr.Source
	Target    budgetattr.Target

	HasMargin bool
	Margin    time.Duration
	HasRatio  bool
	Ratio     float64

	Outcome   budgetattr.Outcome
	Cause     budgetattr.Cause
	Phase     budgetattr.Phase
	Answered  bool
	Late      bool
	Exhausted bool
	Class     Class

	// CancelAfter is when the signal fired, from the start of the span.
	HasCancelAfter bool
	CancelAfter    time.Duration
	// PostCancel is work after the signal beyond clean-up within its budget and a declared drain.
	HasPostCancel bool
	PostCancel    time.Duration

	// Which facts were derived here or earlier (by the processor), not recorded by the service.
	MarginInferred, OutcomeInferred, PostCancelInferred bool
}

// JudgeSpan judges one span by its own facts: what the sdk recorded, else what follows from its duration and status.
func JudgeSpan(s *span.Span) SpanVerdict {
	f := factsOf(s)
	return JudgeFacts(&f)
}

// JudgeFacts is JudgeSpan for facts that are read already.
func JudgeFacts(f *Facts) SpanVerdict {
	var v SpanVerdict
	v.HasBudget = f.Received != Absent
	v.Received = f.Received.orZero()
	v.Entry = f.Kind == span.KindServer || f.Kind == span.KindConsumer || f.Root || v.HasBudget
	v.Source = budgetattr.Source(f.Source)
	v.Target = budgetattr.Target(f.Target)
	v.Cause = budgetattr.Cause(f.Cause)
	v.Phase = budgetattr.Phase(f.Phase)
	v.judgeMargin(f)
	v.judgeOutcome(f)
	v.judgeCancel(f)
	return v
}

func (v *SpanVerdict) judgeMargin(f *Facts) {
	if v.Target == "" {
		v.Target = budgetattr.TargetComplete
	}
	v.HasMargin = f.Margin != Absent
	v.Margin = f.Margin.orZero()
	v.MarginInferred = v.HasMargin && f.inferredBy(InferredMargin)
	if !v.HasMargin && v.HasBudget && f.GovernedBy != string(budgetattr.GovernedByExpiry) {
		v.Margin, v.HasMargin = v.Received-f.elapsedTo(v.Target), true
		v.MarginInferred = true
	}
	if !v.HasBudget {
		return
	}
	if v.HasRatio = v.HasMargin && v.Received > 0; v.HasRatio {
		v.Ratio = float64(v.Received-v.Margin) / float64(v.Received)
	}
}

// maxLength bounds what a span may last, so that no sum of two or three lengths leaves the int64.
const maxLength = 50 * 365 * 24 * time.Hour

// length is the duration of the span, 0 for one that ends before it starts.
func length(s *span.Span) time.Duration { return lengthOf(s.Start, s.End) }

func lengthOf(start, end int64) time.Duration {
	start, end = max(start, 0), max(end, 0)
	return time.Duration(min(max(end-start, 0), int64(maxLength)))
}

func (v *SpanVerdict) judgeOutcome(f *Facts) {
	v.Outcome = budgetattr.Outcome(f.Outcome)
	v.OutcomeInferred = v.Outcome == "" || f.inferredBy(InferredOutcome)
	if v.Outcome == "" {
		switch {
		case v.Cause != "":
			v.Outcome = budgetattr.OutcomeCancelled
		case v.Source == budgetattr.SourceRefused:
			v.Outcome = budgetattr.OutcomeRejected
		case f.Status == span.StatusError:
			v.Outcome = budgetattr.OutcomeFailed
		default:
			v.Outcome = budgetattr.OutcomeDone
		}
	}
	v.Answered = v.Outcome.Answered()
	v.Late = v.Answered && v.HasMargin && v.Margin < 0
	if f.HasLate {
		v.Late = f.Late
	}
	v.Exhausted = exhausted(v.Outcome, v.Cause)
	v.Class = ClassOf(v.Outcome, v.Cause, v.Late)
}

// exhausted: ended by its own deadline or expiry, or refused for lack of time, before an answer.
func exhausted(o budgetattr.Outcome, c budgetattr.Cause) bool {
	switch o {
	case budgetattr.OutcomeExpiredInQueue:
		return true
	case budgetattr.OutcomeRejected:
		return !c.Benign()
	case budgetattr.OutcomeCancelled:
		return c == budgetattr.CauseLocalDeadline || c == budgetattr.CauseUpstreamDeadline || c == budgetattr.CauseExpiry
	}
	return false
}

// ClassOf sorts an outcome into one of the four kinds.
func ClassOf(o budgetattr.Outcome, c budgetattr.Cause, late bool) Class {
	switch o {
	case budgetattr.OutcomeFailed, budgetattr.OutcomeRejected, budgetattr.OutcomeExpiredInQueue, budgetattr.OutcomeUncertain:
		return ClassLateOrFailed
	case budgetattr.OutcomeCancelled:
		if c.Benign() {
			return ClassBenign
		}
		return ClassLateOrFailed
	}
	if late {
		return ClassLateOrFailed
	}
	switch o {
	case budgetattr.OutcomeDegraded, budgetattr.OutcomePartial, budgetattr.OutcomeDoneWithPending:
		return ClassDegraded
	}
	return ClassInTime
}

func (v *SpanVerdict) judgeCancel(f *Facts) {
	v.HasCancelAfter = f.CancelAfter != Absent && f.CancelAfter >= 0
	v.CancelAfter = f.CancelAfter.orZero()
	if f.PostCancel != Absent && f.PostCancel >= 0 {
		v.PostCancel, v.HasPostCancel, v.PostCancelInferred = time.Duration(f.PostCancel), true, f.inferredBy(InferredPostCancel)
		return
	}
	if v.HasCancelAfter {
		v.PostCancel = max(lengthOf(f.Start, f.End)-v.CancelAfter-f.AllowedAfterEnd(), 0)
		v.HasPostCancel, v.PostCancelInferred = true, true
	}
}
