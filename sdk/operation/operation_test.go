package operation_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/operation"
	"github.com/laxity-dev/laxity/sdk/record"
)

func ask(t *testing.T, h http.Handler, method, id string) (int, operation.Status) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, "/"+id, nil))
	var s operation.Status
	if err := json.Unmarshal(w.Body.Bytes(), &s); w.Code < 300 && err != nil {
		t.Fatal(err)
	}
	return w.Code, s
}

func TestAnOperationOutlivesItsRequestAndCanBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewSpanRecorder()
		provider := budget.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
		store, clock := new(record.Memory), envelope.NewClock()
		consumer, err := envelope.NewConsumer(t.Context(), budget.Policy{}, store, clock, provider)
		if err != nil {
			t.Fatal(err)
		}
		runner := operation.NewRunner(consumer, store, clock)
		h := operation.NewHandler(store)
		reqCtx, entry, _ := budget.NewEdge(budget.Policy{Default: time.Second}, provider).Start(t.Context(), budget.Arrival{Name: "request"})
		if _, err := runner.Start(reqCtx, "export", envelope.Spec{ID: "export-1", Limit: time.Minute}, func(ctx context.Context, r *envelope.Run) error {
			time.Sleep(10 * time.Second)
			if err := ctx.Err(); err != nil {
				return err
			}
			return r.SetResult(map[string]int{"rows": 3})
		}); err != nil {
			t.Fatal(err)
		}
		entry.End(nil)
		synctest.Wait()
		if code, s := ask(t, h, "GET", "export-1"); code != 200 || s.State != "running" || s.Stopped {
			t.Errorf("%d %+v", code, s)
		}
		runner.Wait()
		if code, s := ask(t, h, "GET", "export-1"); code != 200 || s.State != "closed" || s.Outcome != budgetattr.OutcomeDone || string(s.Result) != `{"rows":3}` || !s.Stopped {
			t.Errorf("%d %+v", code, s)
		}
		detached := 0
		for _, span := range spans.Ended() {
			for _, kv := range span.Attributes() {
				if kv.Key == budgetattr.DetachedIDKey && kv.Value.AsString() == "export-1" {
					detached++
				}
				if span.Name() == "request" && kv.Key == budgetattr.OpenChildrenKey && kv.Value.AsInt64() != 0 {
					t.Error("the request counts it as left open")
				}
			}
		}
		if detached == 0 {
			t.Error("no span says that it is detached")
		}
	})
}

func TestAnOperationIsCancelledByItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, clock := new(record.Memory), envelope.NewClock()
		consumer, err := envelope.NewConsumer(t.Context(), budget.Policy{}, store, clock)
		if err != nil {
			t.Fatal(err)
		}
		runner := operation.NewRunner(consumer, store, clock)
		h := operation.NewHandler(store)
		if _, err := runner.Start(t.Context(), "export", envelope.Spec{ID: "export-1", Limit: time.Minute}, func(ctx context.Context, _ *envelope.Run) error {
			<-ctx.Done()
			time.Sleep(100 * time.Millisecond)
			return ctx.Err()
		}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if code, s := ask(t, h, "DELETE", "export-1"); code != 202 || s.Cancelled == nil || s.Stopped {
			t.Errorf("%d %+v", code, s)
		}
		runner.Wait()
		if code, s := ask(t, h, "GET", "export-1"); code != 200 || s.Outcome != budgetattr.OutcomeCancelled || !s.Stopped {
			t.Errorf("%d %+v", code, s)
		}
		for _, id := range []string{"none", "%2e%2e", "a*b"} {
			if code, _ := ask(t, h, "GET", id); code != 404 {
				t.Errorf("%s: %d", id, code)
			}
		}
	})
}

func TestWhatNeverClosedIsLost(t *testing.T) {
	now := time.Now()
	u := envelope.Unit{State: envelope.Running, Envelope: envelope.Envelope{DeadlineAt: now.Add(-2 * time.Minute)}}
	if s := operation.StatusOf(u, now); s.State != "lost" || s.Stopped {
		t.Errorf("%+v", s)
	}
}
