package demo

import (
	"context"
	"time"

	"github.com/laxity-dev/laxity/sdk/fanout"
)

// profileCall is an optional call beside the chain. Once the chain has gone on without it, the fence refuses its result.
type profileCall struct {
	cancel  context.CancelFunc
	fence   *fanout.Fence
	arrived chan struct{}
	failed  bool // once arrived
}

func (e *edge) askProfile(ctx context.Context, q question) *profileCall {
	p := &profileCall{fence: fanout.NewFence(ctx, ""), arrived: make(chan struct{})}
	ctx, p.cancel = context.WithCancel(ctx)
	go func() {
		defer close(p.arrived)
		var row account
		if e.call(ctx, stageProfile, e.account, "/profile", q, &row) != nil || p.fence.Accept("") != nil {
			p.failed = true
		}
	}()
	return p
}

// wait reports whether the profile arrived within the limit; afterwards it is refused.
func (p *profileCall) wait(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.arrived:
		return !p.failed
	case <-timer.C:
	case <-ctx.Done():
	}
	p.fence.Close()
	return false
}

// closeProfile stops the call. A result that came too late was counted by the fence.
func (e *edge) closeProfile(ctx context.Context, p *profileCall) {
	p.cancel()
	<-p.arrived
	if p.fence.Late() > 0 && has(ctx, LateResult) {
		e.faults.took(ctx, LateResult, e.name, "the profile arrived after the edge had gone on without it")
	}
}
