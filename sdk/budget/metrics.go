package budget

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// instruments are the sdk's own metrics, which no sampling thins. An instrument that cannot be made counts nothing.
type instruments struct {
	margin, overrun, postCancel, streamIdle               metric.Float64Histogram
	requests, refused, cancellations, confirmed, timeouts metric.Int64Counter
	attempts, lateResults, decisions, skipped, hedges     metric.Int64Counter
	expiredInQueue, regrants, uncertain                   metric.Int64Counter
	postCancelCost                                        metric.Float64Counter
	stillRunning                                          metric.Int64UpDownCounter

	// sets keeps the label set of every combination seen: labels are bounded, and building a set costs more than counting.
	sets  sync.Map // labels -> metric.MeasurementOption
	count struct {
		sync.Mutex
		n int
	}
}

// maxLabels bounds the number of label combinations; those beyond it lose their route and peer.
const maxLabels = 2000

type labels struct {
	route, stage, peer string
	outcome            budgetattr.Outcome
	cause              budgetattr.Cause
	phase              budgetattr.Phase
	layer              string
	mode               budgetattr.Mode
	unit               string
	decision           budgetattr.Decision
	reason             string
}

func newInstruments(m metric.Meter) *instruments {
	// The API returns a working no-op beside every error.
	histogram := func(name, what string) metric.Float64Histogram {
		h, _ := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what),
			metric.WithExplicitBucketBoundaries(0, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60))
		return h
	}
	counter := func(name, unit, what string) metric.Int64Counter {
		c, _ := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		return c
	}
	running, _ := m.Int64UpDownCounter(budgetattr.MetricStillRunning, metric.WithUnit("{hop}"),
		metric.WithDescription("hops that run though their request is over"))
	cost, _ := m.Float64Counter(budgetattr.MetricPostCancelCost, metric.WithUnit("{cost}"),
		metric.WithDescription("cost produced after the cancellation signal, by unit of cost"))
	return &instruments{
		margin:        histogram(budgetattr.MetricMargin, "budget left when the answer reached its target, zero if late"),
		overrun:       histogram(budgetattr.MetricOverrun, "time by which the answer was late, zero if in time"),
		postCancel:    histogram(budgetattr.MetricPostCancelTime, "time worked after the cancellation signal"),
		requests:      counter(budgetattr.MetricRequests, "{request}", "requests by outcome"),
		refused:       counter(budgetattr.MetricRefused, "{hop}", "work not started for lack of time"),
		cancellations: counter(budgetattr.MetricCancellations, "{cancellation}", "cancellations by cause"),
		confirmed:     counter(budgetattr.MetricCancellationsConfirmed, "{cancellation}", "cancellations whose work was seen to stop"),
		timeouts:      counter(budgetattr.MetricTimeouts, "{timeout}", "timeouts by phase"),
		attempts:      counter(budgetattr.MetricAttempts, "{attempt}", "attempts by layer"),
		decisions:     counter(budgetattr.MetricStageDecisions, "{step}", "what was decided for the steps of chains"),
		skipped:       counter(budgetattr.MetricRetriesSkipped, "{retry}", "retries and hedges that were not sent"),
		hedges:        counter(budgetattr.MetricHedges, "{attempt}", "second attempts sent beside a slow first one"),
		streamIdle:    histogram(budgetattr.MetricStreamIdle, "silence for which a stream was ended"),
		lateResults:   counter(budgetattr.MetricLateResults, "{result}", "results refused because their unit was closed"),
		stillRunning:  running,

		expiredInQueue: counter(budgetattr.MetricExpiredInQueue, "{unit}", "units of work that expired in a queue and did not run"),
		regrants:       counter(budgetattr.MetricRegrants, "{unit}", "units of work with a deadline that a person granted anew"),
		uncertain:      counter(budgetattr.MetricEffectsUncertain, "{effect}", "times that an effect became uncertain"),
		postCancelCost: cost,
	}
}

// with returns the measurement option for the labels.
func (i *instruments) with(l labels) metric.MeasurementOption {
	if o, ok := i.sets.Load(l); ok {
		return o.(metric.MeasurementOption)
	}
	i.count.Lock()
	full := i.count.n >= maxLabels
	if !full {
		i.count.n++
	}
	i.count.Unlock()
	if full {
		l.route, l.stage, l.peer = "other", "other", ""
	}
	var kv []attribute.KeyValue
	for _, p := range [...]struct{ key, value string }{
		{budgetattr.LabelRoute, l.route}, {budgetattr.LabelStage, l.stage}, {budgetattr.LabelPeer, l.peer},
		{budgetattr.LabelOutcome, string(l.outcome)}, {budgetattr.LabelCause, string(l.cause)},
		{budgetattr.LabelPhase, string(l.phase)}, {budgetattr.LabelLayer, l.layer}, {budgetattr.LabelMode, string(l.mode)},
		{budgetattr.LabelCostUnit, l.unit}, {budgetattr.LabelDecision, string(l.decision)}, {budgetattr.LabelReason, l.reason},
	} {
		if p.value != "" {
			kv = append(kv, attribute.String(p.key, p.value))
		}
	}
	o := metric.WithAttributeSet(attribute.NewSet(kv...))
	if !full {
		i.sets.Store(l, o)
	}
	return o
}

func (i *instruments) cancelled(ctx context.Context, l labels, after time.Duration, confirmed bool) {
	o := i.with(l)
	i.cancellations.Add(ctx, 1, o)
	if confirmed {
		i.confirmed.Add(ctx, 1, o)
		i.postCancel.Record(ctx, after.Seconds(), o)
	}
}

// metricsOf returns the instruments of the edge that ctx belongs to.
func metricsOf(ctx context.Context) *instruments {
	s := scopeFrom(ctx)
	if s == nil {
		s = outside()
	}
	return s.edge.metrics
}

// CountDecision counts what was decided for a step of a chain, once it is known for the step as a whole: attempts and
// fallbacks of the same step count once.
func CountDecision(ctx context.Context, stage, peer string, d budgetattr.Decision) {
	m := metricsOf(ctx)
	m.decisions.Add(ctx, 1, m.with(labels{stage: stage, peer: peer, decision: d}))
}

// CountSkippedRetry counts a retry or a hedge that was not sent. The reason must be one of few.
func CountSkippedRetry(ctx context.Context, stage, peer, reason string) {
	m := metricsOf(ctx)
	m.skipped.Add(ctx, 1, m.with(labels{stage: stage, peer: peer, reason: reason}))
}

// CountHedge counts a second attempt that was sent beside a slow first one.
func CountHedge(ctx context.Context, stage, peer string) {
	m := metricsOf(ctx)
	m.hedges.Add(ctx, 1, m.with(labels{stage: stage, peer: peer}))
}

// ObserveStreamIdle records the silence for which a stream was ended. The timeout itself is counted by its hop, if it has
// one.
func ObserveStreamIdle(ctx context.Context, stage string, phase budgetattr.Phase, silent time.Duration) {
	m := metricsOf(ctx)
	m.streamIdle.Record(ctx, silent.Seconds(), m.with(labels{stage: stage, phase: phase}))
}
