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
	var v SpanVerdict
	a := s.Attrs
	v.Received, v.HasBudget = a.Seconds(budgetattr.BudgetReceivedKey)
	v.Entry = s.Kind == span.KindServer || s.Kind == span.KindConsumer || s.Parent.IsZero() || v.HasBudget
	v.Source = budgetattr.Source(a.String(budgetattr.BudgetSourceKey))
	v.Target = budgetattr.Target(a.String(budgetattr.MarginAtKey))
	v.Cause = budgetattr.Cause(a.String(budgetattr.CancelCauseKey))
	v.Phase = budgetattr.Phase(a.String(budgetattr.TimeoutPhaseKey))
	v.judgeMargin(s)
	v.judgeOutcome(s)
	v.judgeCancel(s)
	return v
}

func (v *SpanVerdict) judgeMargin(s *span.Span) {
	if v.Target == "" {
		v.Target = budgetattr.TargetComplete
	}
	v.Margin, v.HasMargin = s.Attrs.Seconds(budgetattr.MarginKey)
	v.MarginInferred = v.HasMargin && s.InferredBy(InferredMargin)
	if !v.HasMargin && v.HasBudget && s.Attrs.String(budgetattr.GovernedByKey) != string(budgetattr.GovernedByExpiry) {
		v.Margin, v.HasMargin = v.Received-elapsedToTarget(s, v.Target), true
		v.MarginInferred = true
	}
	if !v.HasBudget {
		return
	}
	if v.HasRatio = v.HasMargin && v.Received > 0; v.HasRatio {
		v.Ratio = float64(v.Received-v.Margin) / float64(v.Received)
	}
}

// elapsedToTarget is the recorded time of the target where there is one, else the whole span.
func elapsedToTarget(s *span.Span, target budgetattr.Target) time.Duration {
	key := ""
	switch target {
	case budgetattr.TargetFirstOutput:
		key = budgetattr.FirstOutputTimeKey
	case budgetattr.TargetValidated:
		key = budgetattr.ValidatedTimeKey
	case budgetattr.TargetComplete:
		key = budgetattr.CompleteTimeKey
	}
	length := length(s)
	if d, ok := s.Attrs.Seconds(key); ok && d >= 0 && d <= length {
		return d
	}
	return length
}

// maxLength bounds what a span may last, so that no sum of two or three lengths leaves the int64.
const maxLength = 50 * 365 * 24 * time.Hour

// length is the duration of the span, 0 for one that ends before it starts.
func length(s *span.Span) time.Duration {
	start, end := max(s.Start, 0), max(s.End, 0)
	return time.Duration(min(max(end-start, 0), int64(maxLength)))
}

func (v *SpanVerdict) judgeOutcome(s *span.Span) {
	v.Outcome = budgetattr.Outcome(s.Attrs.String(budgetattr.OutcomeKey))
	v.OutcomeInferred = v.Outcome == "" || s.InferredBy(InferredOutcome)
	if v.Outcome == "" {
		switch {
		case v.Cause != "":
			v.Outcome = budgetattr.OutcomeCancelled
		case v.Source == budgetattr.SourceRefused:
			v.Outcome = budgetattr.OutcomeRejected
		case s.Status == span.StatusError:
			v.Outcome = budgetattr.OutcomeFailed
		default:
			v.Outcome = budgetattr.OutcomeDone
		}
	}
	v.Answered = v.Outcome.Answered()
	v.Late = v.Answered && v.HasMargin && v.Margin < 0
	if late, ok := s.Attrs.Bool(budgetattr.LateKey); ok {
		v.Late = late
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

func (v *SpanVerdict) judgeCancel(s *span.Span) {
	v.CancelAfter, v.HasCancelAfter = s.Attrs.Seconds(budgetattr.CancelAfterKey)
	v.HasCancelAfter = v.HasCancelAfter && v.CancelAfter >= 0
	if post, ok := s.Attrs.Seconds(budgetattr.PostCancelTimeKey); ok && post >= 0 {
		v.PostCancel, v.HasPostCancel, v.PostCancelInferred = post, true, s.InferredBy(InferredPostCancel)
		return
	}
	if v.HasCancelAfter {
		v.PostCancel = max(length(s)-v.CancelAfter-allowedAfterEnd(s), 0)
		v.HasPostCancel, v.PostCancelInferred = true, true
	}
}

// allowedAfterEnd is clean-up within its budget and a declared drain: neither post-cancel nor orphan work.
func allowedAfterEnd(s *span.Span) time.Duration {
	cleanup, _ := s.Attrs.Seconds(budgetattr.CleanupTimeKey)
	if budget, ok := s.Attrs.Seconds(budgetattr.CleanupBudgetKey); ok {
		cleanup = min(cleanup, budget)
	}
	drain, _ := s.Attrs.Seconds(budgetattr.DrainTimeKey)
	return max(cleanup, 0) + max(drain, 0)
}

// Annotate writes onto the span what was derived: margin, ratio, late, outcome on entries, post-cancel time anywhere. It
// never overwrites what is there, and marks the span as inferred if it derived anything but the ratio.
func (v SpanVerdict) Annotate(s *span.Span) {
	if v.MarginInferred {
		s.Infer(InferredMargin, budgetattr.MarginKey, v.Margin.Seconds())
		s.Infer(InferredMargin, budgetattr.LateKey, v.Late)
	}
	if v.OutcomeInferred && v.Entry && (v.HasBudget || v.Outcome != budgetattr.OutcomeDone) {
		s.Infer(InferredOutcome, budgetattr.OutcomeKey, string(v.Outcome))
	}
	if v.PostCancelInferred {
		s.Infer(InferredPostCancel, budgetattr.PostCancelTimeKey, v.PostCancel.Seconds())
	}
	if v.HasRatio && !s.Attrs.Has(budgetattr.UsedRatioKey) {
		s.Attrs[budgetattr.UsedRatioKey] = v.Ratio
	}
	if v.HasMargin && !s.Attrs.Has(budgetattr.LateKey) {
		s.Attrs[budgetattr.LateKey] = v.Late
	}
}
