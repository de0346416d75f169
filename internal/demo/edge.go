package demo

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// question is what a client asks of any route.
type question struct {
	Account int    `json:"account"`
	Text    string `json:"text"`
}

// reply is what every route answers. Degraded names the stages that were left out.
type reply struct {
	Account  string   `json:"account,omitempty"`
	Sources  []string `json:"sources,omitempty"`
	Text     string   `json:"text,omitempty"`
	Degraded []string `json:"degraded,omitempty"`
}

// edge is the service that clients call.
type edge struct {
	*service
	account, retrieval, model, validator *service
	slots                                chan struct{}
}

func newEdge(s *service, account, retrieval, model, validator *service) *edge {
	e := &edge{service: s, account: account, retrieval: retrieval, model: model, validator: validator,
		slots: make(chan struct{}, 256)}
	s.calls(stageAccount, stageProfile, stageRetrieval, stageCollect, stageGenerate, stageValidate)
	s.handle(routeAnswer, s.granted(budgetAnswer), e.answer)
	s.handle(routeSearch, s.granted(budgetSearch), e.search)
	s.handle(routeReport, s.granted(budgetReport), e.report)
	s.handle(routeAccount, s.granted(budgetAccount), e.readAccount)
	return e
}

// serve is what the routes share: the body, the local queue, the answer or the reason why there is none.
func (e *edge) serve(w http.ResponseWriter, r *http.Request, chain func(context.Context, question) (reply, error)) {
	ctx := r.Context()
	var q question
	if !readJSON(w, r, &q) {
		return
	}
	e.noteArrival(ctx, r)
	leave, err := e.enter(ctx)
	if err != nil {
		e.fail(ctx, w, err)
		return
	}
	defer leave()
	if err := e.spend(ctx, "edge", edgeWork); err != nil {
		e.fail(ctx, w, err)
		return
	}
	answer, err := chain(ctx, q)
	if err != nil {
		e.fail(ctx, w, err)
		return
	}
	for _, stage := range answer.Degraded {
		budget.FromContext(ctx).Degrade(stage)
	}
	writeJSON(w, http.StatusOK, answer)
}

// fail answers with the status that the error means.
func (e *edge) fail(ctx context.Context, w http.ResponseWriter, err error) {
	if clientGone(ctx) && has(ctx, ClientLeaves) {
		e.faults.took(ctx, ClientLeaves, e.name, "the client closed the connection while the edge was at work")
	}
	fail(w, err)
}

func (e *edge) readAccount(w http.ResponseWriter, r *http.Request) {
	e.serve(w, r, func(ctx context.Context, q question) (reply, error) {
		row, err := e.lookUp(ctx, q)
		return reply{Account: row.Name}, err
	})
}

func (e *edge) search(w http.ResponseWriter, r *http.Request) {
	e.serve(w, r, func(ctx context.Context, q question) (reply, error) {
		found, err := e.find(ctx, q)
		return reply{Sources: found.Documents, Degraded: found.Degraded}, err
	})
}

// report collects everything there is; what there is has grown.
func (e *edge) report(w http.ResponseWriter, r *http.Request) {
	e.serve(w, r, func(ctx context.Context, q question) (reply, error) {
		var found documents
		err := e.call(ctx, stageCollect, e.retrieval, "/collect", q, &found)
		return reply{Sources: found.Documents}, err
	})
}

// answer is the whole chain: account, profile beside retrieval and rerank, model, validator.
func (e *edge) answer(w http.ResponseWriter, r *http.Request) {
	e.serve(w, r, func(ctx context.Context, q question) (reply, error) {
		row, err := e.lookUp(ctx, q)
		if err != nil {
			return reply{}, err
		}
		profile := e.askProfile(ctx, q)
		defer e.closeProfile(ctx, profile)
		found, err := e.find(ctx, q)
		if err != nil {
			return reply{}, err
		}
		out := reply{Account: row.Name, Sources: found.Documents, Degraded: found.Degraded}
		if !profile.wait(ctx, e.timing.limit(profileWait)) {
			out.Degraded = append(out.Degraded, "profile")
		}
		if out.Text, err = e.generate(ctx, q); err != nil {
			return reply{}, err
		}
		if err := e.validate(ctx, q, out.Text); err != nil {
			return reply{}, err
		}
		return out, nil
	})
}

func (e *edge) lookUp(ctx context.Context, q question) (account, error) {
	var row account
	err := e.call(ctx, stageAccount, e.account, "/account", q, &row)
	return row, err
}

func (e *edge) find(ctx context.Context, q question) (documents, error) {
	var found documents
	err := e.call(ctx, stageRetrieval, e.retrieval, "/search", q, &found)
	return found, err
}

func (e *edge) validate(ctx context.Context, q question, text string) error {
	q.Text = text
	return e.call(ctx, stageValidate, e.validator, "/validate", q, nil)
}

// enter waits for a slot. A request that plays local_queue finds the only slot of its queue taken for most of its budget; the
// queue is its own, so that other requests stay clean.
func (e *edge) enter(ctx context.Context) (leave func(), err error) {
	slots := e.slots
	deadline, bounded := ctx.Deadline()
	plays := has(ctx, LocalQueue) && bounded
	if plays {
		slots = make(chan struct{}, 1)
		slots <- struct{}{}
		time.AfterFunc(time.Until(deadline)*6/10, func() { <-slots })
	}
	leave = func() { <-slots }
	select {
	case slots <- struct{}{}:
		return leave, nil
	default:
	}
	begin := time.Now()
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	waited := time.Since(begin)
	budget.FromContext(ctx).AddQueueTime(waited)
	if plays {
		e.faults.took(ctx, LocalQueue, e.name, fmt.Sprintf("waited %v for a slot", waited.Round(time.Millisecond)))
	}
	return leave, nil
}

// noteArrival records that a tight budget reached the edge.
func (e *edge) noteArrival(ctx context.Context, r *http.Request) {
	if ask := r.Header.Get(budgetattr.HeaderTimeout); ask != "" && has(ctx, TightBudget) {
		e.faults.took(ctx, TightBudget, e.name, fmt.Sprintf("the client asked for %s ms", ask))
	}
}
