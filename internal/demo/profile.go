package demo

import (
	"context"
	"sync"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
)

// profileCall is an optional call beside the chain. Once the chain has gone on without it, its result is refused.
type profileCall struct {
	cancel  context.CancelFunc
	arrived chan struct{}

	mu     sync.Mutex
	closed bool
	late   bool
}

func (e *edge) askProfile(ctx context.Context, q question) *profileCall {
	ctx, cancel := context.WithCancel(ctx)
	p := &profileCall{cancel: cancel, arrived: make(chan struct{})}
	go func() {
		defer close(p.arrived)
		var row account
		err := e.call(ctx, stageProfile, e.account, "/profile", q, &row)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.late = err == nil && p.closed
	}()
	return p
}

// wait reports whether the profile arrived within the limit; afterwards it is refused.
func (p *profileCall) wait(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.arrived:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return false
}

// end stops the call and reports whether its result came too late.
func (p *profileCall) end() bool {
	p.cancel()
	<-p.arrived
	return p.late
}

// closeProfile records a profile that was refused because it came too late.
func (e *edge) closeProfile(ctx context.Context, p *profileCall) {
	if !p.end() {
		return
	}
	budget.FromContext(ctx).LateResult()
	if has(ctx, LateResult) {
		e.faults.took(ctx, LateResult, e.name, "the profile arrived after the edge had gone on without it")
	}
}
