package budget

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Final returns the outcome that [Entry.End] with this error would record now.
func (en *Entry) Final(err error) budgetattr.Outcome {
	cause, ended := CauseOf(&en.ctx)
	en.mu.Lock()
	defer en.mu.Unlock()
	outcome, _ := en.finalState(err, cause, ended)
	return outcome
}

// CostAfterCancel records cost produced after the cancellation signal, in a unit of which there are few: token, cent.
func (en *Entry) CostAfterCancel(unit string, amount float64) {
	var total float64
	en.update(func() {
		en.lateCost += amount
		total = en.lateCost
	})
	if total > 0 {
		en.span.SetAttributes(attribute.Float64(budgetattr.PostCancelCostKey, total), attribute.String(budgetattr.CostUnitKey, unit))
	}
	m := en.edge.metrics
	m.postCancelCost.Add(en.base, amount, m.with(labels{unit: unit}))
}

// Effect records the state of the write to another system that the hop makes; the last state before End counts.
func (h Hop) Effect(key string, state budgetattr.EffectState) {
	s := h.lock()
	if s == nil {
		return
	}
	if s.span != nil {
		s.attrs = append(s.attrs, attribute.String(budgetattr.EffectKeyKey, key), attribute.String(budgetattr.EffectStateKey, string(state)))
	}
	ctx, m, l := s.ctx, s.scope.edge.metrics, labels{stage: s.stage, peer: s.peer}
	h.set.mu.Unlock()
	if state == budgetattr.EffectUncertain {
		m.uncertain.Add(ctx, 1, m.with(l))
	}
}

// stored counts what happened to work that came out of a queue.
func (i *instruments) stored(ctx context.Context, outcome budgetattr.Outcome, source budgetattr.Source, route string) {
	if outcome == budgetattr.OutcomeExpiredInQueue {
		i.expiredInQueue.Add(ctx, 1, i.with(labels{route: route}))
	}
	if source == budgetattr.SourceRegrant {
		i.regrants.Add(ctx, 1, i.with(labels{route: route}))
	}
}
