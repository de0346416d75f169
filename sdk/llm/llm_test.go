package llm_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgettest"
	"github.com/laxity-dev/laxity/sdk/llm"
	"github.com/laxity-dev/laxity/sdk/stream"
)

const ms = time.Millisecond

var forms = map[string]string{"completions": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}

// world is a provider and one recorded request, in a bubble.
type world struct {
	*testing.T
	p     *budgettest.Provider
	r     *budgettest.Recorder
	ctx   context.Context
	leave context.CancelFunc
	entry *budget.Entry
}

func in(t *testing.T, p budget.Policy, run func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, p: budgettest.NewProvider(t, budgettest.InMemory()), r: budgettest.NewRecorder()}
		base, leave := context.WithCancel(t.Context())
		defer leave()
		w.leave = leave
		var err error
		w.ctx, w.entry, err = w.r.Edge(p).Start(base, budget.Arrival{Name: "in", ParentCause: budgetattr.CauseClientDisconnect})
		if err != nil {
			t.Fatal(err)
		}
		run(w)
		w.entry.End(nil)
	})
}

// ask sends a streaming request.
func (w *world) ask(rt http.RoundTripper, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(w.ctx, http.MethodPost, w.p.URL+path, strings.NewReader(`{"model":"big","stream":true}`))
	if err != nil {
		w.Fatal(err)
	}
	return rt.RoundTrip(req)
}

// about reports whether something took d. The clocks give a caller who leaves at the same time a moment.
func about(start time.Time, d time.Duration) bool {
	took := time.Since(start)
	return took >= d && took <= d+5*ms
}

// stall asks and reads to the end, which must be a timeout.
func (w *world) stall(rt http.RoundTripper, path string) *llm.TimeoutError {
	w.Helper()
	resp, err := w.ask(rt, path)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	var timeout *llm.TimeoutError
	if !errors.As(err, &timeout) {
		w.Fatalf("err %v", err)
	}
	var netErr net.Error
	if !errors.Is(err, syscall.ETIMEDOUT) || errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &netErr) || !netErr.Timeout() {
		w.Errorf("%v is no read timeout of the transport", err)
	}
	budgettest.Quiet(w, w.p, 0)
	return timeout
}

func TestT6_SilenceBeforeTheFirstToken(t *testing.T) {
	for form, path := range forms {
		for name, script := range map[string][]budgettest.Act{
			"headers":    {budgettest.Headers(), budgettest.Freeze()},
			"nothing":    {budgettest.Freeze()},
			"heartbeats": {budgettest.Heartbeats(-1, 100*ms)},
		} {
			t.Run(form+"/"+name, func(t *testing.T) {
				in(t, budget.Policy{Default: time.Hour}, func(w *world) {
					w.p.Answer(script...)
					start := time.Now()
					e := w.stall(llm.NewTransport(w.p.Transport(), llm.WithFirstToken(2*time.Second), llm.WithStage("model")), path)
					want := budgetattr.PhaseFirstToken
					if name == "nothing" {
						want = budgetattr.PhaseFirstByte
					}
					if !about(start, 2*time.Second) || e.Phase != want || !e.Retryable() || time.Hour-e.Remaining > 2005*ms {
						t.Errorf("after %v: %v", time.Since(start), e)
					}
					hop := w.r.Last(t, "model")
					if hop.Text(budgetattr.TimeoutPhaseKey) != string(want) || hop.Text(budgetattr.CancelCauseKey) != string(budgetattr.CauseStreamIdle) {
						t.Errorf("phase %s, cause %s", hop.Text(budgetattr.TimeoutPhaseKey), hop.Text(budgetattr.CancelCauseKey))
					}
				})
			})
		}
	}
}

func TestT6_UnreachableProvider(t *testing.T) {
	in(t, budget.Policy{Default: time.Hour}, func(w *world) {
		w.p.Unreachable(true)
		if e := w.stall(llm.NewTransport(w.p.Transport(), llm.WithFirstToken(time.Second)), forms["completions"]); e.Phase != budgetattr.PhaseFirstByte {
			t.Errorf("phase %s", e.Phase)
		}
	})
}

func TestT7_FrozenAfterTokens(t *testing.T) {
	for form, path := range forms {
		for name, last := range map[string]budgettest.Act{"silence": budgettest.Freeze(), "heartbeats": budgettest.Heartbeats(-1, 400*ms)} {
			t.Run(form+"/"+name, func(t *testing.T) {
				in(t, budget.Policy{Default: time.Hour}, func(w *world) {
					w.p.Answer(budgettest.Reasoning(2, 300*ms), budgettest.Tokens(3, 100*ms), last)
					start := time.Now()
					e := w.stall(llm.NewTransport(w.p.Transport(), llm.WithProgress(3*time.Second), llm.WithStage("model")), path)
					if !about(start, 3900*ms) || e.Phase != budgetattr.PhaseBetweenTokens || e.Tokens != 5 || e.Retryable() || e.Idle.Clock != stream.ClockProgress {
						t.Errorf("after %v: %v", time.Since(start), e)
					}
					hop := w.r.Last(t, "model")
					first, _ := hop.Seconds(budgetattr.PhaseTime(budgetattr.PhaseFirstToken))
					visible, _ := hop.Seconds(budgetattr.FirstOutputTimeKey)
					if first != 300*ms || visible != 700*ms {
						t.Errorf("first token after %v, first output after %v", first, visible)
					}
				})
			})
		}
	}
}

func TestT8_SteadyStreamNeverTrips(t *testing.T) {
	for form, path := range forms {
		t.Run(form, func(t *testing.T) {
			in(t, budget.Policy{}, func(w *world) {
				w.p.Answer(budgettest.Reasoning(20, time.Second), budgettest.Tokens(100, time.Second))
				rt := llm.NewTransport(w.p.Transport(), llm.WithFirstToken(2*time.Second), llm.WithProgress(1100*ms), llm.WithIdle(1100*ms), llm.WithStage("model"))
				resp, err := w.ask(rt, path)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || strings.Count(string(text), "w100 ") != 1 {
					t.Errorf("%v, %d bytes", err, len(text))
				}
				hop := w.r.Last(t, "model")
				whole, _ := hop.Seconds(budgetattr.CompleteTimeKey)
				if whole != 120*time.Second || hop.Int("gen_ai.usage.output_tokens") != 120 || hop.Int("gen_ai.usage.input_tokens") != 7 ||
					hop.Text("gen_ai.request.model") != "big" || hop.Text("gen_ai.response.model") != "big" || hop.Text("gen_ai.response.id") == "" {
					t.Errorf("whole %v, attributes %v", whole, hop.Attributes())
				}
			})
		})
	}
}

func TestT9_CallerWhoLeavesIsNoTimeout(t *testing.T) {
	for name, script := range map[string][]budgettest.Act{
		"before the first byte":  {budgettest.Freeze()},
		"before the first token": {budgettest.Headers(), budgettest.Freeze()},
		"between tokens":         {budgettest.Tokens(1, 0), budgettest.Freeze()},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, budget.Policy{Default: time.Hour}, func(w *world) {
				w.p.Answer(script...)
				time.AfterFunc(2*time.Second, w.leave)
				start := time.Now()
				resp, err := w.ask(llm.NewTransport(w.p.Transport(), llm.WithFirstToken(2*time.Second), llm.WithProgress(2*time.Second), llm.WithStage("model")), forms["messages"])
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if !errors.Is(err, context.Canceled) || errors.Is(err, syscall.ETIMEDOUT) && name != "before the first byte" {
					t.Errorf("err %v", err)
				}
				if !about(start, 2*time.Second) {
					t.Errorf("after %v", time.Since(start))
				}
				budgettest.Quiet(t, w.p, 0)
				if c := w.r.Last(t, "model").Text(budgetattr.CancelCauseKey); c != string(budgetattr.CauseClientDisconnect) {
					t.Errorf("cause %s", c)
				}
			})
		})
	}
}

func TestT10_NoLimitNeverTimesOut(t *testing.T) {
	in(t, budget.Policy{}, func(w *world) {
		w.p.Answer(budgettest.Wait(10*time.Hour), budgettest.Tokens(2, 10*time.Hour))
		resp, err := w.ask(llm.NewTransport(w.p.Transport(), llm.WithIdle(0)), forms["completions"])
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), "[DONE]") {
			t.Errorf("%v", err)
		}
	})
}

func TestT11_DefaultIdleIsHonoured(t *testing.T) {
	in(t, budget.Policy{}, func(w *world) {
		w.p.Answer(budgettest.Tokens(1, 0), budgettest.Freeze())
		start := time.Now()
		if e := w.stall(llm.NewTransport(w.p.Transport()), forms["completions"]); !about(start, stream.DefaultIdle) || e.HasRemaining {
			t.Errorf("after %v: %v", time.Since(start), e)
		}
	})
}

func TestBudgetEndsAStreamAndNamesThePhase(t *testing.T) {
	in(t, budget.Policy{Default: 2 * time.Second, Reserve: 100 * ms}, func(w *world) {
		w.p.Answer(budgettest.Tokens(3, 100*ms), budgettest.Freeze())
		resp, err := w.ask(llm.NewTransport(w.p.Transport(), llm.WithStage("model")), forms["responses"])
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		var e *budget.ExhaustedError
		if !errors.As(err, &e) || e.Stage != "model" || e.Phase != budgetattr.PhaseBetweenTokens || e.Remaining != 100*ms {
			t.Errorf("err %v", err)
		}
		budgettest.Quiet(t, w.p, 0)
	})
}

// A stream that ends before it is complete must not pass as the whole answer.
func TestTruncatedAnswerIsAnError(t *testing.T) {
	for form, path := range forms {
		for name, last := range map[string]budgettest.Act{"cut": budgettest.Cut(), "reset": budgettest.Reset()} {
			t.Run(form+"/"+name, func(t *testing.T) {
				in(t, budget.Policy{Default: time.Minute}, func(w *world) {
					w.p.Answer(budgettest.Tokens(3, ms), last)
					resp, err := w.ask(llm.NewTransport(w.p.Transport()), path)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Errorf("err %v", err)
					}
					resp.Body.Close()
				})
			})
		}
	}
}

// litellm 36008: what is done with a paid stream after the client left is a declared policy, and its cost is recorded.
func TestCancelPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		policy       llm.CancelPolicy
		tokens, late int
		drained      time.Duration
		usage        bool
	}{
		"abort":       {llm.Abort(), 10, 0, 0, false},
		"drain 200ms": {llm.DrainFor(204 * ms), 30, 20, 204 * ms, false},
		"drain fully": {llm.DrainFully(), 1000, 990, 9895 * ms, true},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, budget.Policy{Default: time.Second}, func(w *world) {
				w.p.Answer(budgettest.Tokens(1000, 10*ms))
				time.AfterFunc(105*ms, w.leave)
				start := time.Now()
				resp, err := w.ask(llm.NewTransport(w.p.Transport(), llm.WithCancel(c.policy), llm.WithStage("model")), forms["messages"])
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if !errors.Is(err, context.Canceled) || time.Since(start) != 105*ms {
					t.Errorf("%v after %v", err, time.Since(start))
				}
				w.entry.End(context.Canceled)
				time.Sleep(time.Minute)
				if open := w.r.Entries()[0].Int(budgetattr.OpenChildrenKey); open != 0 {
					t.Errorf("%d hops are said to be left open by a declared drain", open)
				}
				hop := w.r.Last(t, "model")
				cost, _ := hop.Value(budgetattr.PostCancelCostKey)
				drained, _ := hop.Seconds(budgetattr.DrainTimeKey)
				post, _ := hop.Seconds(budgetattr.PostCancelTimeKey)
				_, counted := hop.Value("gen_ai.usage.output_tokens")
				if int(cost.AsFloat64()) != c.late || hop.Text(budgetattr.CostUnitKey) != "token" || drained.Round(ms) != c.drained.Round(ms) || post != 0 || c.usage && !counted {
					t.Errorf("cost %v, drained %v, worked on for %v, attributes %v", cost.AsFloat64(), drained, post, hop.Attributes())
				}
				if got := w.p.Stats().Tokens; got != c.tokens {
					t.Errorf("%d tokens were produced", got)
				}
				if w.p.Stats().TokensAfterClose != 0 {
					t.Errorf("%d tokens after the close", w.p.Stats().TokensAfterClose)
				}
			})
		})
	}
}

// vllm 54947: a provider that generates on though nobody is there is seen by the fake, and the caller does not wait for it.
func TestDeafProviderHoldsNobody(t *testing.T) {
	in(t, budget.Policy{Default: time.Second}, func(w *world) {
		w.p.Answer(budgettest.Deaf(), budgettest.Tokens(20, 100*ms))
		start := time.Now()
		resp, err := w.ask(llm.NewTransport(w.p.Transport()), forms["completions"])
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if !errors.Is(err, budget.ErrExhausted) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.Sleep(time.Minute)
		if n := w.p.Stats().TokensAfterClose; n < 9 {
			t.Errorf("%d tokens after the close", n)
		}
	})
}

func TestWholeAnswerIsNotCutByRulesOfStreams(t *testing.T) {
	for form, path := range forms {
		t.Run(form, func(t *testing.T) {
			in(t, budget.Policy{Default: time.Hour}, func(w *world) {
				w.p.Answer(budgettest.Tokens(40, time.Second))
				rt := llm.NewTransport(w.p.Transport(), llm.WithFirstToken(time.Second), llm.WithIdle(time.Second), llm.WithStage("model"))
				req, _ := http.NewRequestWithContext(w.ctx, http.MethodPost, w.p.URL+path, strings.NewReader(`{"model":"big"}`))
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadAll(resp.Body); err != nil {
					t.Error(err)
				}
				resp.Body.Close()
				if n := w.r.Last(t, "model").Int("gen_ai.usage.output_tokens"); n != 40 {
					t.Errorf("%d tokens", n)
				}
			})
		})
	}
}

func TestRefusedCallSendsNothing(t *testing.T) {
	in(t, budget.Policy{Default: time.Second}, func(w *world) {
		_, err := w.ask(llm.NewTransport(w.p.Transport(), llm.WithHop(budget.WithMinUseful(2*time.Second)), llm.WithStage("model")), forms["messages"])
		if !errors.Is(err, budget.ErrExhausted) || w.p.Stats().Dials > 0 {
			t.Errorf("err %v, %d dials", err, w.p.Stats().Dials)
		}
		budgettest.NeverStarted(t, w.r, "model")
	})
}

func TestFallbackUnderOneDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		script []budgettest.Act
		dead   bool
		took   time.Duration
	}{
		"unreachable":     {nil, true, 5 * time.Second},
		"silent":          {[]budgettest.Act{budgettest.Headers(), budgettest.Freeze()}, false, 5 * time.Second},
		"heartbeats only": {[]budgettest.Act{budgettest.Heartbeats(-1, 100*ms)}, false, 5 * time.Second},
		"status":          {[]budgettest.Act{budgettest.Status(503)}, false, 0},
		"reset":           {[]budgettest.Act{budgettest.Headers(), budgettest.Reset()}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, budget.Policy{Default: 10 * time.Second}, func(w *world) {
				a, b := w.p, budgettest.NewProvider(w.T, budgettest.InMemory())
				a.Unreachable(c.dead)
				a.Answer(c.script...)
				// The last candidate is slower than its slice, and is not cut.
				b.Answer(budgettest.Wait(3*time.Second), budgettest.Tokens(3, 500*ms))
				rt := llm.NewFallback([]llm.Candidate{
					{Name: "a", URL: a.URL + "/v1", Base: a.Transport()},
					{Name: "b", URL: "http://b.invalid/openai", Base: b.Transport(), Model: "small", Header: http.Header{"Authorization": {"Bearer b"}}, Meets: "short answers do", Slice: time.Second},
				})
				start := time.Now()
				resp, err := w.ask(rt, forms["completions"])
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || strings.Count(string(text), `"content":"w`) != 3 || !about(start, c.took+4500*ms) {
					t.Errorf("%v after %v: %s", err, time.Since(start), text)
				}
				got := b.Requests()[0]
				if got.Path != "/openai/chat/completions" || !strings.Contains(string(got.Body), `"small"`) || got.Header.Get("Authorization") != "Bearer b" {
					t.Errorf("request %+v", got)
				}
				if d := w.entry.Degraded(); len(d) != 1 || d[0] != "a" {
					t.Errorf("degraded %v", d)
				}
				budgettest.Decided(t, w.r, "b", budgetattr.DecisionFallback)
				budgettest.Quiet(t, a, 0)
			})
		})
	}
}

func TestFallbackTellsWhyItStopped(t *testing.T) {
	candidates := func(w *world) []llm.Candidate {
		return []llm.Candidate{{Name: "a", URL: w.p.URL, Base: w.p.Transport(), Slice: time.Second},
			{Name: "b", URL: w.p.URL, Base: w.p.Transport(), Meets: "the same model elsewhere"}}
	}
	stopped := func(w *world, err error, reason llm.StopReason, tried int) {
		w.Helper()
		var e *llm.FallbackError
		if !errors.As(err, &e) || e.Reason != reason || len(e.Tried) != tried {
			w.Errorf("err %v", err)
		}
	}
	t.Run("candidates", func(t *testing.T) {
		in(t, budget.Policy{Default: time.Minute}, func(w *world) {
			w.p.Answer(budgettest.Headers(), budgettest.Reset())
			_, err := w.ask(llm.NewFallback(candidates(w)), forms["messages"])
			stopped(w, err, llm.StopCandidates, 2)
		})
	})
	t.Run("budget", func(t *testing.T) {
		in(t, budget.Policy{Default: 3 * time.Second}, func(w *world) {
			w.p.Answer(budgettest.Freeze())
			start := time.Now()
			_, err := w.ask(llm.NewFallback(candidates(w)), forms["messages"])
			stopped(w, err, llm.StopBudget, 2)
			if time.Since(start) != 3*time.Second {
				t.Errorf("after %v", time.Since(start))
			}
		})
	})
	t.Run("cancelled", func(t *testing.T) {
		in(t, budget.Policy{Default: time.Minute}, func(w *world) {
			w.p.Answer(budgettest.Freeze())
			time.AfterFunc(500*ms, w.leave)
			_, err := w.ask(llm.NewFallback(candidates(w)), forms["messages"])
			stopped(w, err, llm.StopCancelled, 1)
		})
	})
	t.Run("delivered", func(t *testing.T) {
		in(t, budget.Policy{Default: time.Minute}, func(w *world) {
			w.p.Answer(budgettest.Tokens(1, 0), budgettest.Reset())
			resp, err := w.ask(llm.NewFallback(candidates(w)), forms["messages"])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || w.p.Stats().Requests != 1 {
				t.Errorf("%v, %d requests", err, w.p.Stats().Requests)
			}
			resp.Body.Close()
		})
	})
}
