package deadlineconnector

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/processor/pspan"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// sheet is what is read of one span.
type sheet struct {
	facts verdict.Facts
	names verdict.Names

	requested, detached, confirmed       bool
	lateResults, attempt, skipped        int64
	localBeforeFirstCall, before         verdict.Optional
	decision, layer, reason, state, unit string
	cost                                 float64
}

var emptySheet = sheet{facts: verdict.NoFacts, localBeforeFirstCall: verdict.Absent, before: verdict.Absent}

// read reads a span, and reports whether it carries facts of ours.
func (s *sheet) read(in ptrace.Span) (ours bool) {
	*s = emptySheet
	for key, v := range in.Attributes().All() {
		if pspan.Fact(key) {
			ours = true
			s.fact(key, v)
		} else {
			s.name(key, v)
		}
	}
	f := &s.facts
	f.Kind, f.Status, f.Root = span.Kind(in.Kind()), span.Status(in.Status().Code()), in.ParentSpanID().IsEmpty()
	f.Start, f.End = int64(in.StartTimestamp()), int64(in.EndTimestamp())
	s.names.Kind, s.names.Name = f.Kind, in.Name()
	return ours
}

// name reads one of the attributes of others that name a route or a peer.
func (s *sheet) name(key string, v pcommon.Value) {
	n := &s.names
	switch key {
	case "http.route":
		n.HTTPRoute = str(v)
	case "rpc.method":
		n.RPCMethod = str(v)
	case "rpc.service":
		n.RPCService = str(v)
	case "peer.service":
		n.PeerService = str(v)
	case "server.address":
		n.ServerAddress = str(v)
	case "net.peer.name":
		n.NetPeer = str(v)
	case "messaging.destination.name":
		n.Destination = str(v)
	case "db.system.name":
		n.DBSystemName = str(v)
	case "db.system":
		n.DBSystem = str(v)
	}
}

// fact reads one attribute of ours.
func (s *sheet) fact(key string, v pcommon.Value) {
	f := &s.facts
	switch key {
	case budgetattr.BudgetReceivedKey:
		f.Received = seconds(v)
	case budgetattr.BudgetRequestedKey:
		s.requested = true
	case budgetattr.BudgetSourceKey:
		f.Source = str(v)
	case budgetattr.GovernedByKey:
		f.GovernedBy = str(v)
	case budgetattr.MarginKey:
		f.Margin = seconds(v)
	case budgetattr.MarginAtKey:
		f.Target = str(v)
	case budgetattr.LateKey:
		f.Late, f.HasLate = boolean(v)
	case budgetattr.OutcomeKey:
		f.Outcome = str(v)
	case budgetattr.CancelCauseKey:
		f.Cause = str(v)
	case budgetattr.TimeoutPhaseKey:
		f.Phase = str(v)
	case budgetattr.CancelAfterKey:
		f.CancelAfter = seconds(v)
	case budgetattr.CancelConfirmedKey:
		s.confirmed, _ = boolean(v)
	case budgetattr.PostCancelTimeKey:
		f.PostCancel = seconds(v)
	case budgetattr.CleanupTimeKey:
		f.Cleanup = seconds(v)
	case budgetattr.CleanupBudgetKey:
		f.CleanupBudget = seconds(v)
	case budgetattr.DrainTimeKey:
		f.Drain = seconds(v)
	case budgetattr.FirstOutputTimeKey:
		f.FirstOutput = seconds(v)
	case budgetattr.CompleteTimeKey:
		f.Complete = seconds(v)
	case budgetattr.ValidatedTimeKey:
		f.Validated = seconds(v)
	case budgetattr.InferredRuleKey:
		f.Rules = str(v)
	default:
		s.more(key, v)
	}
}

// more reads what no judgement asks for.
func (s *sheet) more(key string, v pcommon.Value) {
	switch key {
	case budgetattr.StageKey:
		s.names.Stage = str(v)
	case budgetattr.DecisionKey:
		s.decision = str(v)
	case budgetattr.RemainingBeforeKey:
		s.before = seconds(v)
	case budgetattr.AttemptKey:
		s.attempt = whole(v)
	case budgetattr.AttemptLayerKey:
		s.layer = str(v)
	case budgetattr.RetriesSkippedKey:
		s.skipped = whole(v)
	case budgetattr.RetriesSkippedReasonKey:
		s.reason = str(v)
	case budgetattr.LateResultsKey:
		s.lateResults = whole(v)
	case budgetattr.LocalBeforeFirstCallKey:
		s.localBeforeFirstCall = seconds(v)
	case budgetattr.EffectStateKey:
		s.state = str(v)
	case budgetattr.PostCancelCostKey:
		s.cost, _ = slow(v).Float("")
	case budgetattr.CostUnitKey:
		s.unit = str(v)
	case budgetattr.DetachedIDKey:
		s.detached = str(v) != ""
	}
}

// str, seconds, boolean and whole read values as span.Attributes does, quickly where they have the type they should have.

func str(v pcommon.Value) string {
	if s := v.Str(); s != "" || v.Type() == pcommon.ValueTypeStr {
		return s
	}
	return slow(v).String("")
}

func seconds(v pcommon.Value) verdict.Optional {
	number, ok := v.Double(), true
	if number == 0 && v.Type() != pcommon.ValueTypeDouble {
		number, ok = slow(v).Float("")
	}
	if d, fits := span.DurationOf(number); ok && fits {
		return verdict.Optional(d)
	}
	return verdict.Absent
}

func boolean(v pcommon.Value) (value, ok bool) {
	if v.Type() == pcommon.ValueTypeBool {
		return v.Bool(), true
	}
	return slow(v).Bool("")
}

func whole(v pcommon.Value) int64 {
	n, _ := slow(v).Int("")
	return n
}

// slow returns a value as the one attribute of a span.
func slow(v pcommon.Value) span.Attributes {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return span.Attributes{"": v.Str()}
	case pcommon.ValueTypeInt:
		return span.Attributes{"": v.Int()}
	case pcommon.ValueTypeDouble:
		return span.Attributes{"": v.Double()}
	case pcommon.ValueTypeBool:
		return span.Attributes{"": v.Bool()}
	}
	return nil
}
