package engine

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/laxity-dev/laxity/engine/chdb"
)

// gate lets a number of requests run and a number wait, first come first served; the rest are refused at once.
type gate struct {
	running chan struct{}
	waiting atomic.Int64
	maxWait int64
}

func newGate(running, waiting int) *gate {
	return &gate{running: make(chan struct{}, running), maxWait: int64(max(waiting, 0))}
}

// enter returns once the request may run; leave must follow.
func (g *gate) enter(ctx context.Context) error {
	select {
	case g.running <- struct{}{}:
		return nil
	default:
	}
	if g.waiting.Add(1) > g.maxWait {
		g.waiting.Add(-1)
		return exception(chdb.CodeTooManyQueries, "TOO_MANY_SIMULTANEOUS_QUERIES", fmt.Sprintf(
			"Too many simultaneous queries: %d run and %d wait, which is the limit. Send fewer at once, or raise --max-queries or --max-waiting",
			cap(g.running), g.maxWait))
	}
	defer g.waiting.Add(-1)
	select {
	case g.running <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *gate) leave() { <-g.running }
