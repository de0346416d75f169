package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/stream"
)

// streamBody is the body that the client reads.
type streamBody struct{ call *call }

func (b *streamBody) Read(p []byte) (int, error) {
	c := b.call
	n, err := c.reader.Read(p)
	if err == nil {
		return n, nil
	}
	c.settle(err)
	(*wireBody)(c).Close()
	return n, c.err
}

// Close ends the stream. A caller that closes it before its end no longer waits for it.
func (b *streamBody) Close() error {
	c := b.call
	if c.reader.Facts().Err == nil {
		c.closed.Store(true)
	}
	c.settleClosed()
	_ = c.reader.Close()
	return (*wireBody)(c).Close()
}

func (c *call) settleClosed() {
	if c.reader.Facts().Err == nil {
		c.settle(stream.ErrClosed)
	}
}

// wireBody is the provider's body under the watch. What it reads is counted.
type wireBody call

func (b *wireBody) Read(p []byte) (int, error) {
	c := (*call)(b)
	c.reading <- struct{}{}
	defer func() { <-c.reading }()
	n, err := c.body.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 {
		c.progress.Store(c.tally.feed(p[:n], c.gone()))
		if scan := c.tally.scanner.Err(); scan != nil {
			err = scan
		}
	}
	if err != nil && c.failed == nil {
		c.failed = err
	}
	return n, err
}

// Close ends the request at once, or when it is drained. It is called by the watch and by the client; the first call
// counts, and the others wait for it.
func (b *wireBody) Close() error {
	c := (*call)(b)
	if !c.shutting.CompareAndSwap(false, true) {
		<-c.over
		return nil
	}
	defer close(c.over)
	// The watch may close what failed, or whose caller left, before its reader has heard of it.
	c.mu.Lock()
	whole, failed, err := c.tally.complete, c.tally.failed, c.failed
	c.mu.Unlock()
	if f := c.reader.Facts(); f.Err != nil {
		err = f.Err
	} else if err == nil && c.ctx.Err() != nil {
		err = context.Cause(c.ctx)
	} else if err == nil {
		err = stream.ErrClosed
	}
	c.settle(err)
	if c.gone() && !whole && c.cfg.cancel.drains() {
		c.hop.Draining()
		go c.drain()
		return nil
	}
	if whole && !failed && err == stream.ErrClosed {
		c.tail()
	}
	c.shut()
	return nil
}

// tailWait bounds the time in which the provider may end an answer that is complete.
const tailWait = 50 * time.Millisecond

// tail reads to the end of an answer that is complete: clients stop at its end mark, and the provider is not to be taken for
// one that was cut.
func (c *call) tail() {
	c.stopped = time.Now()
	end := time.AfterFunc(tailWait, func() { c.cut(budget.CauseError(budgetattr.CauseSuperseded)) })
	defer end.Stop()
	buffer := make([]byte, 512)
	for time.Since(c.stopped) < tailWait {
		if _, err := (*wireBody)(c).Read(buffer); err != nil {
			return
		}
	}
}

// cut ends a read of the provider's body, also of one that knows nothing of the request's context.
func (c *call) cut(cause error) {
	c.wire(cause)
	_ = c.body.Close()
}

// shut closes the request and ends the call.
func (c *call) shut() {
	switch {
	case c.outcome != nil:
		c.wire(c.outcome)
	case c.err != io.EOF:
		c.wire(budget.CauseError(budgetattr.CauseSuperseded))
	}
	_ = c.body.Close()
	c.finish()
}

// drain reads on as the policy declares.
func (c *call) drain() {
	policy, began := c.cfg.cancel, time.Now()
	allowed := policy.drain
	silence := c.cfg.idle
	var end *time.Timer
	switch {
	case !policy.full:
		end = time.AfterFunc(policy.drain, func() { c.cut(stream.ErrClosed) })
		silence = 0
	case silence > 0:
		end = time.AfterFunc(silence, func() { c.cut(stream.ErrClosed) })
	}
	buffer := make([]byte, 16<<10)
	for {
		_, err := (*wireBody)(c).Read(buffer)
		if err != nil {
			break
		}
		if end != nil && silence > 0 {
			end.Reset(silence)
		}
	}
	if end != nil {
		end.Stop()
	}
	spent := time.Since(began)
	if policy.full {
		allowed = spent
	}
	c.hop.Drained(spent, allowed)
	c.shut()
}

// wholeBody is the body of an answer that is no stream.
type wholeBody struct {
	call   *call
	failed error // what the status says
	read   bytes.Buffer
}

// maxWhole bounds what is kept of an answer to find its usage in it.
const maxWhole = 4 << 20

func (b *wholeBody) Read(p []byte) (int, error) {
	n, err := b.call.body.Read(p)
	if b.read.Len()+n <= maxWhole {
		b.read.Write(p[:n])
	}
	if err != nil {
		err = b.end(err)
	}
	return n, err
}

func (b *wholeBody) Close() error {
	err := b.call.body.Close()
	_ = b.end(stream.ErrClosed)
	return err
}

func (b *wholeBody) end(err error) error {
	c := b.call
	c.closing.Do(func() {
		var m message
		if json.Unmarshal(b.read.Bytes(), &m) == nil {
			c.mu.Lock()
			c.tally.complete = true
			c.tally.facts(&m)
			for _, choice := range m.Choices {
				c.tally.finish = choice.FinishReason
			}
			c.mu.Unlock()
		}
		c.settle(err)
		if b.failed != nil && (err == io.EOF || c.left) {
			c.outcome = b.failed
		}
		c.finish()
	})
	if err == io.EOF {
		return io.EOF
	}
	return c.err
}
