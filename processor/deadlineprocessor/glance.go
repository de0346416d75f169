package deadlineprocessor

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/processor/pspan"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// glance is what one look at a span finds.
type glance uint8

const (
	silent glance = iota // nothing on it may lead to a new attribute
	facts                // facts of ours, all of the types that they should have, and nothing for the classification: they are read
	more                 // must be read whole
)

// known are the facts of a span as the look finds them.
type known struct {
	verdict.Facts
	had      verdict.Parts
	inferred bool // it had deadline.inferred, whatever it said
	was      bool // and it said yes
	ruled    bool // it had deadline.inferred.rule
}

var nothingKnown = known{Facts: verdict.NoFacts}

// look passes once over a span. It says more once too often rather than too seldom.
func (r *reader) look(in ptrace.Span) glance {
	r.failed = in.Status().Code() == ptrace.StatusCodeError || in.Events().Len() > 0 && hasErrorEvent(in.Events())
	speaks, odd, ours := r.failed, false, false
	for name, v := range in.Attributes().All() {
		if pspan.Fact(name) {
			if !ours {
				ours = true
				r.known = nothingKnown
			}
			odd = !r.known.fact(name, v) || odd
			continue
		}
		key := r.classifier.Look(name)
		if key <= classify.KeyNone || key == classify.KeyDetail {
			continue
		}
		if r.said(key, v) {
			speaks = true
			r.failed = r.failed || key == classify.KeyTag || key == classify.KeyType
		}
	}
	switch {
	case speaks || odd:
		return more
	case ours:
		return facts
	}
	return silent
}

func (r *reader) said(key classify.Key, v pcommon.Value) bool {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return r.classifier.Speaks(key, v.Str())
	case pcommon.ValueTypeInt:
		return r.classifier.SpeaksInt(key, v.Int())
	case pcommon.ValueTypeBool:
		return v.Bool()
	}
	return true
}

// fact reads one attribute of ours. It reports false if it is not just what it should be.
func (k *known) fact(key string, v pcommon.Value) bool {
	switch key {
	case budgetattr.BudgetReceivedKey:
		return seconds(&k.Received, v, true)
	case budgetattr.MarginKey:
		k.had |= verdict.PartMargin
		return seconds(&k.Margin, v, true)
	case budgetattr.CancelAfterKey:
		return seconds(&k.CancelAfter, v, true)
	case budgetattr.PostCancelTimeKey:
		k.had |= verdict.PartPostCancel
		return seconds(&k.PostCancel, v, false)
	case budgetattr.CleanupTimeKey:
		return seconds(&k.Cleanup, v, false)
	case budgetattr.CleanupBudgetKey:
		return seconds(&k.CleanupBudget, v, false)
	case budgetattr.DrainTimeKey:
		return seconds(&k.Drain, v, false)
	case budgetattr.FirstOutputTimeKey:
		return seconds(&k.FirstOutput, v, false)
	case budgetattr.CompleteTimeKey:
		return seconds(&k.Complete, v, false)
	case budgetattr.ValidatedTimeKey:
		return seconds(&k.Validated, v, false)
	case budgetattr.BudgetSourceKey:
		return code(&k.Source, v)
	case budgetattr.MarginAtKey:
		return code(&k.Target, v)
	case budgetattr.GovernedByKey:
		return code(&k.GovernedBy, v)
	case budgetattr.CancelCauseKey:
		return code(&k.Cause, v)
	case budgetattr.TimeoutPhaseKey:
		return code(&k.Phase, v)
	case budgetattr.OutcomeKey:
		k.had |= verdict.PartOutcome
		return code(&k.Outcome, v)
	case budgetattr.LateKey:
		k.had |= verdict.PartLate
		k.Late, k.HasLate = v.Bool(), true
		return v.Type() == pcommon.ValueTypeBool
	case budgetattr.InferredKey:
		k.inferred, k.was = true, v.Bool()
		return v.Type() == pcommon.ValueTypeBool
	case budgetattr.InferredRuleKey:
		k.ruled = true
		return code(&k.Rules, v)
	case budgetattr.UsedRatioKey:
		k.had |= verdict.PartRatio
	}
	return sensible(key, v)
}

func seconds(to *verdict.Optional, v pcommon.Value, signed bool) bool {
	d, ok := span.DurationOf(v.Double())
	*to = verdict.Optional(d)
	return ok && (signed || d >= 0) && (d != 0 || v.Type() == pcommon.ValueTypeDouble)
}

func code(to *string, v pcommon.Value) bool {
	*to = v.Str()
	return *to != ""
}

// sensible reports whether a fact that no judgement asks for is just what it should be.
func sensible(key string, v pcommon.Value) bool {
	const much = 1 << 32
	kind, signed, ok := hop.TypeOf(key)
	if !ok {
		return v.Type() == pcommon.ValueTypeStr
	}
	switch kind {
	case hop.Nanoseconds:
		var d verdict.Optional
		return seconds(&d, v, signed)
	case hop.Count:
		return v.Type() == pcommon.ValueTypeInt && v.Int() >= 0 && v.Int() < much
	case hop.Number:
		return v.Type() == pcommon.ValueTypeDouble && v.Double() >= 0 && v.Double() < much
	case hop.Flag:
		return v.Type() == pcommon.ValueTypeBool
	}
	return v.Str() != ""
}

// judge annotates a span by the facts that the look has read.
func (r *reader) judge(in ptrace.Span, n *tally) {
	n.judged++
	k := &r.known
	k.Kind, k.Status, k.Root = span.Kind(in.Kind()), span.Status(in.Status().Code()), in.ParentSpanID().IsEmpty()
	k.Start, k.End = int64(in.StartTimestamp()), int64(in.EndTimestamp())
	v := verdict.JudgeFacts(&k.Facts)
	if v.Late {
		n.late++
	}
	a := v.Adds(k.had, k.Rules)
	if a.Inferred || k.was {
		n.inferred++
	}
	if a.Parts == 0 {
		return
	}
	n.annotated++
	to := in.Attributes()
	to.EnsureCapacity(to.Len() + len(verdict.PartKeys) + 2) // once, not for each
	for i, key := range verdict.PartKeys {
		switch a.Parts & (1 << i) {
		case verdict.PartMargin:
			to.PutDouble(key, v.Margin.Seconds())
		case verdict.PartLate:
			to.PutBool(key, v.Late)
		case verdict.PartRatio:
			to.PutDouble(key, v.Ratio)
		case verdict.PartOutcome:
			to.PutStr(key, string(v.Outcome))
		case verdict.PartPostCancel:
			to.PutDouble(key, v.PostCancel.Seconds())
		}
	}
	if !a.Inferred {
		return
	}
	if !k.inferred {
		to.PutBool(budgetattr.InferredKey, true)
	}
	if !k.ruled || a.Rules != k.Rules {
		to.PutStr(budgetattr.InferredRuleKey, a.Rules)
	}
}
