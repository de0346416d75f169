package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/step"
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
	account, retrieval, validator *service
	archive                       *archive
	generator                     *generator
	slots                         chan struct{}

	identify *step.Step[question, account]
	find     *step.Step[question, documents]
	write    *step.Step[question, string]
	check    *step.Step[question, account]
	chain    *step.Chain
}

func newEdge(s, account, retrieval, model, validator *service, archive *archive, hangUp func(uint64)) *edge {
	e := &edge{service: s, account: account, retrieval: retrieval, validator: validator, archive: archive,
		generator: newGenerator(s, model, hangUp), slots: make(chan struct{}, 256)}
	s.calls(stageAccount, stageProfile, stageRetrieval, stageCollect, stageGenerate, stageValidate)
	e.declare()
	answer := s.granted(budgetAnswer)
	answer.Target = budgetattr.TargetValidated
	s.handle(routeAnswer, answer, e.answer)
	s.handle(routeSearch, s.granted(budgetSearch), e.search)
	s.handle(routeReport, s.granted(budgetReport), e.report)
	s.handle(routeAccount, s.granted(budgetAccount), e.readAccount)
	return e
}

// declare declares the steps of the chain: who asks, what is known of it, the answer, and whether it may go out.
func (e *edge) declare() {
	terms := func(takes, varies time.Duration) step.Terms {
		return step.Terms{Expected: e.timing.work(takes), Variability: e.timing.limit(varies)}
	}
	e.identify = step.Required("identify", e.lookUp, terms(identifyTakes, identifyVaries))
	e.find = step.Required("find", e.ask, terms(findTakes, findVaries))
	e.write = e.generator.writeStep()
	e.check = step.Required("check", e.validate, terms(checkTakes, checkVaries)).Validated(e.accept)
	e.chain = step.NewChain(e.identify, e.find, e.write, e.check)
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
	answer.Degraded = step.Degraded(ctx) // each once
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
		row, err := step.Run(ctx, e.identify, q)
		return reply{Account: row.Name}, err
	})
}

func (e *edge) search(w http.ResponseWriter, r *http.Request) {
	e.serve(w, r, func(ctx context.Context, q question) (reply, error) {
		found, err := step.Run(ctx, e.find, q)
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

// answer is the whole chain: account, profile beside retrieval, model, validator.
func (e *edge) answer(w http.ResponseWriter, r *http.Request) {
	e.serve(w, r, func(ctx context.Context, q question) (reply, error) {
		ctx = e.chain.Start(ctx)
		row, err := step.Run(ctx, e.identify, q)
		if err != nil {
			return reply{}, err
		}
		profile := e.askProfile(ctx, q)
		defer e.closeProfile(ctx, profile)
		found, err := step.Run(ctx, e.find, q)
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
		if _, err := step.Run(ctx, e.check, question{Account: q.Account, Text: out.Text}); err != nil {
			return reply{}, err
		}
		budget.Reached(ctx, budgetattr.TargetValidated)
		out.Degraded = append(out.Degraded, step.Degraded(ctx)...)
		e.afterwards(ctx)
		return out, nil
	})
}

func (e *edge) generate(ctx context.Context, q question) (string, error) {
	if has(ctx, RetryStorm) {
		return e.generator.storm(ctx, q)
	}
	return step.Run(ctx, e.write, q)
}

func (e *edge) lookUp(ctx context.Context, q question) (account, error) {
	var row account
	err := e.call(ctx, stageAccount, e.account, "/account", q, &row)
	return row, err
}

func (e *edge) ask(ctx context.Context, q question) (documents, error) {
	var found documents
	err := e.call(ctx, stageRetrieval, e.retrieval, "/search", q, &found)
	return found, err
}

func (e *edge) validate(ctx context.Context, q question) (account, error) {
	var allowed account
	err := e.call(ctx, stageValidate, e.validator, "/validate", q, &allowed)
	return allowed, err
}

var errNoPlan = errors.New("the validator named no plan")

// accept is the edge's own check of what the validator says. With late_validation it takes longer than there is time.
func (e *edge) accept(ctx context.Context, allowed account) error {
	if left, bounded := budget.Remaining(ctx); bounded && has(ctx, LateValidation) {
		if err := work(ctx, left+e.timing.limit(lateBy)); err != nil {
			return err
		}
		e.faults.took(ctx, LateValidation, e.name, "the answer was found valid after its deadline")
	}
	if allowed.Plan == "" {
		return errNoPlan
	}
	return nil
}

// afterwards is what an answer leaves behind: a note in the archive, and whatever its faults do.
func (e *edge) afterwards(ctx context.Context) {
	if !has(ctx, LateValidation) {
		_ = e.archive.put(ctx) // its span says why there is no note
	}
	if has(ctx, HopLeftOpen) {
		if _, _, err := budget.StartHop(ctx, "left_open", budget.WithPeer("audit")); err == nil {
			e.faults.took(ctx, HopLeftOpen, e.name, "started a call beside the chain and left it open")
		}
	}
	if has(ctx, DetachedWork) {
		e.followUp(ctx)
	}
}

// followUp works on under a durable id when the answer is out.
func (e *edge) followUp(ctx context.Context) {
	ctx = budget.Detach(ctx, fmt.Sprintf("follow-up-%d", requestFrom(ctx).number))
	ctx, hop, err := budget.StartHop(ctx, "follow_up")
	if err != nil {
		return
	}
	e.background.Go(func() {
		err := e.spend(ctx, "follow up", typicalWork)
		hop.End(err)
		e.faults.took(ctx, DetachedWork, e.name, "went on under an id of its own when the answer was out")
	})
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
