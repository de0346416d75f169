package stream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/stream"
)

// producer is a body that delivers its chunks after their delays and is then silent until it is closed or its context ends.
type producer struct {
	ctx    context.Context
	chunks []chunk
	closed chan struct{}
	closes atomic.Int32
	// late is returned by a read that was cut.
	late error
}

type chunk struct {
	after time.Duration
	text  string
	err   error
}

func (p *producer) Read(b []byte) (int, error) {
	if len(p.chunks) == 0 {
		return p.wait(nil)
	}
	next := p.chunks[0]
	timer := time.NewTimer(next.after)
	defer timer.Stop()
	if n, err := p.wait(timer.C); err != nil {
		return n, err
	}
	p.chunks = p.chunks[1:]
	return copy(b, next.text), next.err
}

func (p *producer) wait(c <-chan time.Time) (int, error) {
	select {
	case <-c:
		return 0, nil
	case <-p.closed:
	case <-p.ctx.Done():
	}
	if p.late == nil {
		p.late = errors.New("read on closed body")
	}
	return 0, p.late
}

func (p *producer) Close() error {
	if p.closes.Add(1) == 1 {
		close(p.closed)
	}
	return nil
}

// open returns a producer and the function that opens it.
func open(chunks ...chunk) (*producer, func(context.Context) (io.ReadCloser, error)) {
	p := &producer{chunks: chunks, closed: make(chan struct{})}
	return p, func(ctx context.Context) (io.ReadCloser, error) {
		p.ctx = ctx
		return p, nil
	}
}

// drain reads to the end and returns what was delivered, how long it took and the error; io.EOF counts as none.
func drain(r io.Reader) (string, time.Duration, error) {
	start := time.Now()
	b, err := io.ReadAll(r)
	return string(b), time.Since(start).Truncate(10 * time.Millisecond), err
}

// mustStop fails unless the source was closed once and everything of the stream has stopped.
func mustStop(t *testing.T, r *stream.Reader, p *producer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if !r.Wait(ctx) {
		t.Error("something of the stream still runs")
	}
	if n := p.closes.Load(); n != 1 {
		t.Errorf("source closed %d times, want once", n)
	}
	if p.ctx.Err() == nil {
		t.Error("the request's context is still open")
	}
}

func mustIdle(t *testing.T, err error, clock stream.Clock, chunks int) *stream.IdleError {
	t.Helper()
	var idle *stream.IdleError
	if !errors.As(err, &idle) {
		t.Fatalf("error %v, want an IdleError", err)
	}
	if idle.Clock != clock || idle.Chunks != chunks {
		t.Errorf("clock %s after %d chunks, want %s after %d", idle.Clock, idle.Chunks, clock, chunks)
	}
	return idle
}

func TestT6_SilenceBeforeTheFirstChunkTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, o := open()
		r := stream.NewReader(context.Background(), o, nil, stream.WithIdle(3*time.Second))
		text, took, err := drain(r)
		idle := mustIdle(t, err, stream.ClockLiveness, 0)
		if text != "" || took != 3*time.Second || !idle.Retryable() || idle.Silent != took || idle.Lifetime.Truncate(10*time.Millisecond) != took {
			t.Errorf("%q after %v: %+v", text, took, idle)
		}
		var ne net.Error
		if !errors.Is(err, syscall.ETIMEDOUT) || !errors.As(err, &ne) || !ne.Timeout() || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v is not a read timeout of the transport", err)
		}
		if idle.Phase() != budgetattr.PhaseFirstToken || idle.Cause() != budgetattr.CauseStreamIdle {
			t.Errorf("phase %s, cause %s", idle.Phase(), idle.Cause())
		}
		mustStop(t, r, p)
	})
}

func TestT6_SilenceWhileOpeningTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := func(ctx context.Context) (io.ReadCloser, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r := stream.NewReader(context.Background(), opened, nil, stream.WithFirstContent(time.Second))
		_, took, err := drain(r)
		mustIdle(t, err, stream.ClockFirstContent, 0)
		if took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestT7_StallAfterChunksDeliversThemThenTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, o := open(chunk{after: time.Second, text: "a"}, chunk{after: time.Second, text: "b"})
		r := stream.NewReader(t.Context(), o, nil, stream.WithIdle(3*time.Second))
		text, took, err := drain(r)
		idle := mustIdle(t, err, stream.ClockLiveness, 2)
		if text != "ab" || took != 5*time.Second || idle.Retryable() || idle.Silent != 3*time.Second {
			t.Errorf("%q after %v: %+v", text, took, idle)
		}
		if idle.Phase() != budgetattr.PhaseBetweenTokens {
			t.Errorf("phase %s", idle.Phase())
		}
		mustStop(t, r, p)
	})
}

func TestT8_SteadyStreamNeverTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var chunks []chunk
		for range 1000 {
			chunks = append(chunks, chunk{after: 2999 * time.Millisecond, text: "x"})
		}
		chunks = append(chunks, chunk{err: io.EOF})
		p, o := open(chunks...)
		r := stream.NewReader(t.Context(), o, nil, stream.WithIdle(3*time.Second), stream.WithProgress(3*time.Second))
		text, _, err := drain(r)
		if err != nil || len(text) != 1000 {
			t.Errorf("%d bytes, %v", len(text), err)
		}
		if f := r.Facts(); f.Err != io.EOF || f.Chunks != 1000 || f.FirstContent != 2999*time.Millisecond {
			t.Errorf("facts %+v", f)
		}
		mustStop(t, r, p)
	})
}

func TestT9_CancellationAtTheSameInstantIsNotATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			p, o := open(chunk{after: time.Second, text: "a"})
			r := stream.NewReader(ctx, o, nil, stream.WithIdle(2*time.Second))
			time.AfterFunc(3*time.Second, cancel)
			text, took, err := drain(r)
			if text != "a" || took != 3*time.Second || !errors.Is(err, context.Canceled) || errors.Is(err, syscall.ETIMEDOUT) {
				t.Fatalf("%q after %v: %v", text, took, err)
			}
			mustStop(t, r, p)
		}
	})
}

func TestT9_CauseOfTheCancellationIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		p, o := open()
		r := stream.NewReader(ctx, o, nil)
		time.AfterFunc(time.Second, func() { cancel(left) })
		_, _, err := drain(r)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, left) {
			t.Errorf("error %v", err)
		}
		mustStop(t, r, p)
	})
}

func TestT10_NoLimitNeverTimesOut(t *testing.T) {
	for _, limit := range []time.Duration{0, -1} {
		synctest.Test(t, func(t *testing.T) {
			_, o := open(chunk{after: 24 * time.Hour, text: "late"}, chunk{err: io.EOF})
			r := stream.NewReader(t.Context(), o, nil, stream.WithIdle(limit))
			if text, _, err := drain(r); err != nil || text != "late" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

func TestT11_LimitIsHonoured(t *testing.T) {
	for _, tc := range []struct {
		name  string
		opts  []stream.Option
		clock stream.Clock
		want  time.Duration
	}{
		{"default", nil, stream.ClockLiveness, stream.DefaultIdle},
		{"custom", []stream.Option{stream.WithIdle(7 * time.Second)}, stream.ClockLiveness, 7 * time.Second},
		{"first content", []stream.Option{stream.WithFirstContent(5 * time.Second)}, stream.ClockFirstContent, 5 * time.Second},
		{"progress", []stream.Option{stream.WithProgress(4 * time.Second)}, stream.ClockProgress, 4 * time.Second},
		{"total", []stream.Option{stream.WithTotal(2 * time.Second)}, stream.ClockTotal, 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, o := open()
				_, took, err := drain(stream.NewReader(t.Context(), o, nil, tc.opts...))
				if idle := mustIdle(t, err, tc.clock, 0); took != tc.want || idle.Limit != tc.want {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

func TestT12_LateErrorOfTheAbortedReadLeaksNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, o := open(chunk{text: "a"})
		p.late = errors.New("use of closed network connection")
		r := stream.NewReader(t.Context(), o, nil, stream.WithIdle(time.Second))
		_, _, err := drain(r)
		mustIdle(t, err, stream.ClockLiveness, 1)
		mustStop(t, r, p)
		if _, again := r.Read(make([]byte, 1)); again != err {
			t.Errorf("second read says %v, first said %v", again, err)
		}
		if r.Close() != nil || r.Facts().Err != err {
			t.Errorf("facts say %v", r.Facts().Err)
		}
	})
}

func TestHeartbeatsKeepAliveButAreNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var chunks []chunk
		for range 100 {
			chunks = append(chunks, chunk{after: 7 * time.Second, text: ": ping\n\n"})
		}
		_, o := open(append([]chunk{{text: "data: a\n\n"}}, chunks...)...)
		start := time.Now()
		var got []string
		var last error
		for e, err := range stream.SSE(t.Context(), o, nil, stream.WithIdle(10*time.Second), stream.WithProgress(30*time.Second)) {
			if last = err; err == nil {
				got = append(got, e.Data)
			}
		}
		idle := mustIdle(t, last, stream.ClockProgress, 5)
		if took := time.Since(start).Truncate(10 * time.Millisecond); fmt.Sprint(got) != "[a]" || took != 30*time.Second || idle.Silent != took || idle.Content != 1 {
			t.Errorf("%v after %v: %+v", got, took, idle)
		}
	})
}

func TestPausesOfTheReaderAreNotTheProducersSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, o := open(chunk{text: "a"}, chunk{text: "b"}, chunk{err: io.EOF})
		r := stream.NewReader(t.Context(), o, nil, stream.WithIdle(time.Second), stream.WithProgress(time.Second))
		b := make([]byte, 1)
		for range 2 {
			if _, err := r.Read(b); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		if _, err := r.Read(b); err != io.EOF {
			t.Errorf("error %v", err)
		}
		if f := r.Facts(); f.ReaderPaused != 2*time.Hour {
			t.Errorf("facts %+v", f)
		}
	})
}

func TestSourceThatIgnoresEverythingCannotHoldItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		o := func(context.Context) (io.ReadCloser, error) { return deaf{release}, nil }
		r := stream.NewReader(t.Context(), o, nil, stream.WithIdle(time.Second))
		_, took, err := drain(r)
		mustIdle(t, err, stream.ClockLiveness, 0)
		if took != time.Second {
			t.Errorf("took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if r.Wait(ctx) {
			t.Error("the source is said to have stopped while it runs")
		}
		close(release)
		if !r.Wait(t.Context()) {
			t.Error("the source is said to run after it stopped")
		}
	})
}

type deaf struct{ release chan struct{} }

func (d deaf) Read([]byte) (int, error) { <-d.release; return 0, io.EOF }
func (d deaf) Close() error             { <-d.release; return nil }

func TestBodyThatOpensAfterTheEndIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, o := open()
		slow := func(ctx context.Context) (io.ReadCloser, error) {
			time.Sleep(5 * time.Second)
			return o(ctx)
		}
		r := stream.NewReader(t.Context(), slow, nil, stream.WithIdle(time.Second))
		_, _, err := drain(r)
		mustIdle(t, err, stream.ClockLiveness, 0)
		r.Wait(t.Context())
		if p.closes.Load() != 1 {
			t.Error("the body that was opened too late is open")
		}
	})
}

func TestCloseUnblocksARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, o := open()
		r := stream.NewReader(t.Context(), o, nil)
		time.AfterFunc(time.Second, func() { r.Close() })
		_, took, err := drain(r)
		if took != time.Second || !errors.Is(err, stream.ErrClosed) {
			t.Errorf("after %v: %v", took, err)
		}
		mustStop(t, r, p)
	})
}

func TestSeqAndChan(t *testing.T) {
	values := func(n int, gap time.Duration, fail error) func(context.Context) iter.Seq2[int, error] {
		return func(ctx context.Context) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for i := range n {
					time.Sleep(gap)
					if !yield(i, nil) {
						return
					}
				}
				if fail != nil {
					yield(0, fail)
					return
				}
				<-ctx.Done()
			}
		}
	}
	t.Run("stall", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var n int
			var last error
			for _, err := range stream.Seq(t.Context(), values(3, time.Second, nil), nil, stream.WithIdle(2*time.Second)) {
				if last = err; err == nil {
					n++
				}
			}
			if mustIdle(t, last, stream.ClockLiveness, 3); n != 3 {
				t.Errorf("%d values", n)
			}
		})
	})
	t.Run("error of the source", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			broken := errors.New("broken")
			var last error
			for _, err := range stream.Seq(t.Context(), values(1, 0, broken), nil) {
				last = err
			}
			if last != broken {
				t.Errorf("error %v", last)
			}
		})
	})
	t.Run("consumer leaves", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for range stream.Seq(t.Context(), values(3, 0, nil), nil) {
				break
			}
		})
	})
	t.Run("panic reaches the consumer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if recover() != "boom" {
					t.Error("the panic was lost")
				}
			}()
			for range stream.Seq(t.Context(), func(context.Context) iter.Seq2[int, error] {
				return func(func(int, error) bool) { panic("boom") }
			}, nil) {
			}
		})
	})
	t.Run("channel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := make(chan string)
			go func() { c <- "ping"; c <- "text"; c <- "ping" }()
			var got []string
			var last error
			for v, err := range stream.Chan(t.Context(), c, func(s string) bool { return s == "text" }, stream.WithIdle(time.Second)) {
				if last = err; err == nil {
					got = append(got, v)
				}
			}
			if idle := mustIdle(t, last, stream.ClockLiveness, 3); len(got) != 3 || idle.Content != 1 {
				t.Errorf("%v, %+v", got, idle)
			}
		})
	})
}

func TestEventsAreTheSameHoweverTheyAreCut(t *testing.T) {
	text := "\xef\xbb\xbf: hello\r\n\r\nevent: delta\rdata: one\r\ndata:two\n\nid: 7\ndata\n\nretry: 5\n\ndata: \xc3\xa4\n\ndata: unfinished"
	want := []stream.Event{{Type: "delta", Data: "one\ntwo"}, {Type: "message", ID: "7"}, {Type: "message", Data: "ä", ID: "7"}}
	for size := 1; size <= len(text); size++ {
		var s stream.EventScanner
		var got []stream.Event
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			for e := range s.Feed([]byte(rest[:n])) {
				got = append(got, e)
			}
			rest = rest[n:]
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("in pieces of %d: %q", size, got)
		}
	}
}

func TestEventThatIsTooLongIsAnError(t *testing.T) {
	var s stream.EventScanner
	for range stream.MaxEvent>>20 + 2 {
		for range s.Feed([]byte("data: " + strings.Repeat("x", 1<<20) + "\n")) {
		}
	}
	if !errors.Is(s.Err(), stream.ErrEventTooLong) {
		t.Errorf("error %v", s.Err())
	}
}

func FuzzEventScanner(f *testing.F) {
	f.Add([]byte("data: a\n\n"), 1)
	f.Add([]byte(":\r\n\r\ndata:\r\rid:\x00\n"), 2)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		size = max(1, size%(len(text)+1))
		var whole, cut stream.EventScanner
		var a, b []stream.Event
		for e := range whole.Feed(text) {
			a = append(a, e)
		}
		for rest := text; len(rest) > 0; {
			n := min(size, len(rest))
			for e := range cut.Feed(rest[:n]) {
				b = append(b, e)
			}
			rest = rest[n:]
		}
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("whole %q, in pieces %q", a, b)
		}
	})
}
