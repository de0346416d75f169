package verdict

import (
	"math"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Optional is a duration that may be absent.
type Optional time.Duration

// Absent is a duration that is not recorded.
const Absent Optional = math.MinInt64

func (o Optional) orZero() time.Duration {
	if o == Absent {
		return 0
	}
	return time.Duration(o)
}

// Facts are what the judgement of one span reads, for those who have no span.Span. NoFacts is the empty value.
type Facts struct {
	Kind       span.Kind
	Status     span.Status
	Root       bool
	Start, End int64 // nanoseconds since 1970

	Received, Margin                 Optional
	FirstOutput, Complete, Validated Optional
	CancelAfter, PostCancel          Optional
	Cleanup, CleanupBudget, Drain    Optional
	Source, Target, GovernedBy       string
	Cause, Phase, Outcome            string
	Late, HasLate                    bool
	// Rules are the names of the rules that inferred facts, separated by commas.
	Rules string
}

// NoFacts are the facts of a span without any.
var NoFacts = Facts{
	Received: Absent, Margin: Absent, FirstOutput: Absent, Complete: Absent, Validated: Absent, CancelAfter: Absent, PostCancel: Absent,
	Cleanup: Absent, CleanupBudget: Absent, Drain: Absent,
}

// factsOf reads the facts of a span; what the judgement will not ask for stays absent.
func factsOf(s *span.Span) Facts {
	f := NoFacts
	a := s.Attrs
	f.Kind, f.Status, f.Root, f.Start, f.End = s.Kind, s.Status, s.Parent.IsZero(), s.Start, s.End
	if len(a) == 0 {
		return f
	}
	seconds := func(to *Optional, key string) {
		if d, ok := a.Seconds(key); ok {
			*to = Optional(d)
		}
	}
	seconds(&f.Received, budgetattr.BudgetReceivedKey)
	seconds(&f.Margin, budgetattr.MarginKey)
	f.Source, f.Target = a.String(budgetattr.BudgetSourceKey), a.String(budgetattr.MarginAtKey)
	f.Cause, f.Phase, f.Outcome = a.String(budgetattr.CancelCauseKey), a.String(budgetattr.TimeoutPhaseKey), a.String(budgetattr.OutcomeKey)
	f.Late, f.HasLate = a.Bool(budgetattr.LateKey)
	f.Rules = a.String(budgetattr.InferredRuleKey)
	seconds(&f.CancelAfter, budgetattr.CancelAfterKey)
	seconds(&f.PostCancel, budgetattr.PostCancelTimeKey)
	if f.Received != Absent && f.Margin == Absent {
		f.GovernedBy = a.String(budgetattr.GovernedByKey)
		seconds(&f.FirstOutput, budgetattr.FirstOutputTimeKey)
		seconds(&f.Complete, budgetattr.CompleteTimeKey)
		seconds(&f.Validated, budgetattr.ValidatedTimeKey)
	}
	if f.CancelAfter != Absent {
		f.readAllowed(a)
	}
	return f
}

func (f *Facts) readAllowed(a span.Attributes) {
	for _, r := range [...]struct {
		to  *Optional
		key string
	}{{&f.Cleanup, budgetattr.CleanupTimeKey}, {&f.CleanupBudget, budgetattr.CleanupBudgetKey}, {&f.Drain, budgetattr.DrainTimeKey}} {
		if d, ok := a.Seconds(r.key); ok {
			*r.to = Optional(d)
		}
	}
}

func (f *Facts) inferredBy(rule string) bool { return f.Rules != "" && span.HasRule(f.Rules, rule) }

// elapsedTo is the recorded time of the target where there is one, else the whole span.
func (f *Facts) elapsedTo(target budgetattr.Target) time.Duration {
	d := Absent
	switch target {
	case budgetattr.TargetFirstOutput:
		d = f.FirstOutput
	case budgetattr.TargetValidated:
		d = f.Validated
	case budgetattr.TargetComplete:
		d = f.Complete
	}
	length := lengthOf(f.Start, f.End)
	if d != Absent && d >= 0 && time.Duration(d) <= length {
		return time.Duration(d)
	}
	return length
}

// AllowedAfterEnd is clean-up within its budget and a declared drain: neither post-cancel nor orphan work.
func (f *Facts) AllowedAfterEnd() time.Duration {
	cleanup := f.Cleanup.orZero()
	if f.CleanupBudget != Absent {
		cleanup = min(cleanup, time.Duration(f.CleanupBudget))
	}
	return max(cleanup, 0) + max(f.Drain.orZero(), 0)
}

// allowedAfterEnd is that of a span.
func allowedAfterEnd(s *span.Span) time.Duration {
	f := NoFacts
	f.readAllowed(s.Attrs)
	return f.AllowedAfterEnd()
}

// elapsedToTarget is the recorded time of a span's target where there is one, else the whole span.
func elapsedToTarget(s *span.Span, target budgetattr.Target) time.Duration {
	f := NoFacts
	f.Start, f.End = s.Start, s.End
	key := ""
	switch target {
	case budgetattr.TargetFirstOutput:
		key = budgetattr.FirstOutputTimeKey
	case budgetattr.TargetValidated:
		key = budgetattr.ValidatedTimeKey
	case budgetattr.TargetComplete:
		key = budgetattr.CompleteTimeKey
	}
	if d, ok := s.Attrs.Seconds(key); ok {
		f.FirstOutput, f.Complete, f.Validated = Optional(d), Optional(d), Optional(d)
	}
	return f.elapsedTo(target)
}
