package budgethttp

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/wire"
)

// phase is a part of a call, in the order in which they come.
type phase uint8

const (
	phasePool phase = iota
	phaseDNS
	phaseConnect
	phaseTLS
	phaseRequest
	phaseFirstByte
	phaseBody
	phaseCount
)

var phaseNames = [phaseCount]budgetattr.Phase{
	budgetattr.PhasePool, budgetattr.PhaseDNS, budgetattr.PhaseConnect, budgetattr.PhaseTLS,
	budgetattr.PhaseRequest, budgetattr.PhaseFirstByte, budgetattr.PhaseBody,
}

var phaseKeys = func() (keys [phaseCount]string) {
	for i, p := range phaseNames {
		keys[i] = budgetattr.PhaseTime(p)
	}
	return keys
}()

// call is one request on its way: which phase it is in, and how long each took. Its hooks are called by the goroutines of
// net/http.
type call struct {
	ctx     context.Context
	hop     budget.Hop
	stage   string
	limits  *[phaseCount]time.Duration // nil if no phase is limited
	cancel  context.CancelCauseFunc    // nil if no phase is limited
	carrier []string                   // the header value with the remainder, or nil

	mu     sync.Mutex
	now    phase
	since  time.Time
	took   [phaseCount]time.Duration
	conn   bool // got a connection
	reused bool
	ended  bool
	timer  *time.Timer
}

// trace returns the hooks that follow the call.
func (c *call) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { c.enter(phaseDNS) },
		ConnectStart:      func(string, string) { c.enter(phaseConnect) },
		TLSHandshakeStart: func() { c.enter(phaseTLS) },
		TLSHandshakeDone:  func(tls.ConnectionState, error) {},
		GotConn:           c.gotConn,
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil { // a write that was cut off has not been made
				c.enter(phaseFirstByte)
			}
		},
		GotFirstResponseByte: func() { c.enter(phaseBody) },
	}
}

// enter moves on to a later phase. A dial that goes on in the background though the call got another connection moves
// nothing back.
func (c *call) enter(p phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || p <= c.now {
		return
	}
	now := time.Now()
	c.took[c.now] += now.Sub(c.since)
	c.now, c.since = p, now
	c.arm()
}

// arm starts the limit of the present phase. The caller holds the lock.
func (c *call) arm() {
	if c.limits == nil {
		return
	}
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	p := c.now
	if d := c.limits[p]; d > 0 {
		c.timer = time.AfterFunc(d, func() {
			e := &budget.ExhaustedError{Stage: c.stage, Cause: budgetattr.CauseLocalDeadline, Phase: phaseNames[p], Binding: budgetattr.BindingCap}
			e.Remaining, e.HasRemaining = budget.Remaining(c.ctx)
			c.cancel(e)
		})
	}
}

// gotConn writes the remainder anew: waiting for the connection has used some of it.
func (c *call) gotConn(info httptrace.GotConnInfo) {
	if c.carrier != nil {
		if left, ok := budget.Remaining(c.ctx); ok {
			c.carrier[0] = wire.FormatMillis(left)
		}
	}
	c.mu.Lock()
	c.conn, c.reused = true, info.Reused
	if c.now >= phaseRequest && !c.ended { // net/http tries again on a new connection
		c.took[c.now] += time.Since(c.since)
		c.now, c.since = phasePool, time.Now()
	}
	c.mu.Unlock()
	c.enter(phaseRequest)
}

// phase returns the phase the call is in.
func (c *call) phase() budgetattr.Phase {
	c.mu.Lock()
	defer c.mu.Unlock()
	return phaseNames[c.now]
}

// err tells what ended the call from what it failed with.
func (c *call) err(err error) error {
	c.hop.TimeoutPhase(c.phase())
	if c.cancel != nil && c.ctx.Err() != nil {
		if e, ok := context.Cause(c.ctx).(*budget.ExhaustedError); ok && e.Phase != "" && e.Stage == c.stage {
			return e
		}
	}
	return c.hop.Err(err)
}

// finish closes the hop; only the first call counts.
func (c *call) finish(err error) {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	c.ended = true
	c.took[c.now] += time.Since(c.since)
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.conn {
		c.hop.SetAttributes(attribute.Bool(budgetattr.ConnectionReusedKey, c.reused))
	}
	for p, d := range c.took {
		if d > 0 {
			c.hop.SetAttributes(attribute.Float64(phaseKeys[p], d.Seconds()))
		}
	}
	c.mu.Unlock()
	c.hop.End(err)
	if c.cancel != nil {
		c.cancel(nil)
	}
}
