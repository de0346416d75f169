package step

import (
	"context"
	"sync"
	"time"
)

// Chain is the order of the steps of a request. It does not change and is safe for concurrent use.
type Chain struct{ steps []*declaration }

// NewChain returns the chain of the steps in the order in which they run.
func NewChain(steps ...Declared) *Chain {
	c := &Chain{}
	for _, s := range steps {
		c.steps = append(c.steps, s.declared())
	}
	return c
}

// Start begins one run of the chain: each of its steps that runs under the context leaves what those after it need.
func (c *Chain) Start(ctx context.Context) context.Context {
	r := &chainRun{chain: c, done: make([]bool, len(c.steps))}
	r.ctx = context.WithValue(ctx, chainKey{}, r)
	r.inside = context.WithValue(r.ctx, chainKey{}, (*chainRun)(nil))
	return r.ctx
}

// Need returns the time that the whole chain takes at least, without its optional steps.
func (c *Chain) Need() time.Duration {
	var sum time.Duration
	for _, d := range c.steps {
		sum += d.need()
	}
	return sum
}

type chainKey struct{}

// chainRun is what one request knows of its chain.
type chainRun struct {
	chain *Chain
	ctx   context.Context // that knows of the run
	// inside is ctx without the run.
	inside context.Context

	mu   sync.Mutex
	done []bool
}

func chainOf(ctx context.Context) *chainRun {
	r, _ := ctx.Value(chainKey{}).(*chainRun)
	return r
}

// rest returns what the steps after d need. For a step that the chain does not know it is what all that is left needs.
func (r *chainRun) rest(d *declaration) time.Duration {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var sum time.Duration
	for i := r.next(d) + 1; i < len(r.done); i++ {
		if !r.done[i] {
			sum += r.chain.steps[i].need()
		}
	}
	return sum
}

// next returns where in the chain d comes next, its last place if it has run everywhere, or -1.
func (r *chainRun) next(d *declaration) int {
	at := -1
	for i, s := range r.chain.steps {
		if s != d {
			continue
		}
		if at = i; !r.done[i] {
			break
		}
	}
	return at
}

func (r *chainRun) finished(d *declaration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.next(d); i >= 0 {
		r.done[i] = true
	}
}

// within hides the chain from the steps inside a step: what follows is already reserved.
func (r *chainRun) within(ctx context.Context) context.Context {
	switch {
	case r == nil:
		return ctx
	case ctx == r.ctx:
		return r.inside
	}
	return context.WithValue(ctx, chainKey{}, (*chainRun)(nil))
}
