// Package briefing is an example system: an agent prepares a briefing under one budget of six minutes. It asks a CRM and a
// search at once, delegates research to another worker through a queue, drafts with a model, waits for an editor without
// holding anything open, and publishes once. What no longer fits stays pending, and the result says so.
package briefing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/approval"
	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/effect"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/fanout"
	"github.com/laxity-dev/laxity/sdk/record"
	"github.com/laxity-dev/laxity/sdk/step"
)

// Source answers a question.
type Source func(ctx context.Context, question string) (string, error)

// Desk is the system. All fields are required.
type Desk struct {
	// Minute is the length of a minute; a test compresses it.
	Minute time.Duration
	Store  record.Store
	Clock  *envelope.Clock
	// Send hands a unit to the queue of the kind of work.
	Send func(ctx context.Context, kind string, e envelope.Envelope, payload []byte) error
	// The sources and the writer of the publication.
	CRM, Search, Model, Short, Translate Source
	Publisher                            *effect.Writer
}

// The kinds of work.
const (
	KindBriefing = "briefing"
	KindResearch = "research"
)

// Result is what the requester gets.
type Result struct {
	Text      string   `json:"text"`
	Published string   `json:"published"`
	Pending   []string `json:"pending,omitempty"`
	Without   []string `json:"without,omitempty"`
}

// draft is what must survive the pause.
type draft struct {
	Text    string   `json:"text"`
	Version string   `json:"version"`
	Without []string `json:"without,omitempty"`
}

// Request starts a briefing and returns its id, by which it can be asked for and cancelled.
func (d *Desk) Request(ctx context.Context, id, topic string) (envelope.Envelope, error) {
	e, err := envelope.New(ctx, d.Clock, envelope.Spec{
		ID: id, Limit: 6 * d.Minute, MinUseful: 2 * d.Minute, Synthesis: d.Minute, Attempts: 3,
		NeededBy: time.Now().Add(6 * d.Minute), Class: "briefing", Owner: "desk", Reason: "requested",
	})
	if err != nil {
		return e, err
	}
	return e, d.Send(ctx, KindBriefing, e, []byte(topic))
}

// Brief is one execution of the agent. The first ends in a pause for the editor; the next goes on from the draft.
func (d *Desk) Brief(ctx context.Context, run *envelope.Run, topic []byte) error {
	text, err := record.Get[draft](ctx, d.Store, "draft."+run.ID())
	if errors.Is(err, record.ErrNotFound) {
		text, err = d.prepare(ctx, run, string(topic))
	}
	if err != nil {
		return err
	}
	if err := d.approved(ctx, run, text); err != nil {
		return err
	}
	published, err := d.Publisher.Do(ctx, run.ID(), effect.Key(run.ID(), "publish"), []byte(text.Text))
	if err != nil {
		return err
	}
	result := Result{Text: text.Text, Published: string(published.Result), Without: text.Without}
	// A translation would be good to have. It starts only if it can finish.
	translate := step.Required("translate", step.Func[string, string](d.Translate), step.Terms{
		MinUseful: 3 * d.Minute, Refusal: budgetattr.DecisionPending,
	})
	switch translated, err := step.Run(ctx, translate, text.Text); {
	case err == nil:
		result.Text = translated
	case errors.Is(err, budget.ErrExhausted):
		result.Pending = append(result.Pending, "translation")
		budget.FromContext(ctx).SetOutcome(budgetattr.OutcomeDoneWithPending)
	default:
		return err
	}
	return run.SetResult(result)
}

// prepare gathers, delegates and drafts.
func (d *Desk) prepare(ctx context.Context, run *envelope.Run, topic string) (draft, error) {
	child, err := envelope.New(ctx, d.Clock, envelope.Spec{ID: "research", Limit: 2 * d.Minute, MinUseful: d.Minute / 2})
	if err == nil {
		err = d.Send(ctx, KindResearch, child, []byte(topic))
	}
	// Too late for it, or done by an execution before this one: either way the agent goes on.
	if err != nil && !errors.Is(err, budget.ErrExhausted) && !errors.Is(err, envelope.ErrClosed) {
		return draft{}, err
	}
	children, cancel := run.Delegate(ctx)
	defer cancel()
	facts, err := fanout.Collect(children, fanout.Plan{Deadline: 2 * d.Minute, Quorum: 1, Margin: d.Minute / 4},
		fanout.Branch[string]{Name: "crm", Peer: "crm", Mandatory: true, Do: ask(d.CRM, topic)},
		fanout.Branch[string]{Name: "search", Peer: "search", Limit: d.Minute, Do: ask(d.Search, topic)})
	if err != nil {
		return draft{}, err
	}
	var out draft
	var parts []string
	for _, f := range facts {
		parts = append(parts, f.Value)
	}
	if len(facts) < 2 {
		out.Without = append(out.Without, "search")
	}
	if text, err := d.research(children, child); err == nil {
		parts = append(parts, text)
	} else {
		out.Without = append(out.Without, "research")
	}
	write := step.Required("draft", step.Func[string, string](d.Model), step.Terms{
		Peer: "model", Expected: d.Minute, Variability: d.Minute / 4, Cap: 2 * d.Minute, Reserve: d.Minute,
	}).Or(step.Fallback[string, string]{Name: "short draft", Do: step.Func[string, string](d.Short), Reserve: d.Minute / 4, Meets: "an editor completes it"})
	if out.Text, err = step.Run(ctx, write, strings.Join(parts, "; ")); err != nil {
		return draft{}, err
	}
	run.Spend(ctx, "token", float64(len(out.Text)))
	out.Version = fmt.Sprintf("v%d", run.N())
	return record.Change(ctx, d.Store, "draft."+run.ID(), func(draft, bool) (draft, error) { return out, nil })
}

// research waits for the delegated child.
func (d *Desk) research(ctx context.Context, child envelope.Envelope) (string, error) {
	if child.WorkID == "" {
		return "", budget.ErrExhausted
	}
	u, err := envelope.Await(ctx, d.Store, child.CancellationID)
	if err != nil {
		return "", err
	}
	var text string
	if u.Outcome != budgetattr.OutcomeDone {
		return "", fmt.Errorf("research ended %s", u.Outcome)
	}
	return text, json.Unmarshal(u.Result, &text)
}

// Research is the delegated child.
func (d *Desk) Research(ctx context.Context, run *envelope.Run, topic []byte) error {
	text, err := d.Search(ctx, "background of "+string(topic))
	if err != nil {
		return err
	}
	return run.SetResult(text)
}

// approved asks the editor once, pauses until there is an answer, and looks at everything anew after it.
func (d *Desk) approved(ctx context.Context, run *envelope.Run, text draft) error {
	id := run.ID() + ".publish"
	op := d.Publisher.Operation()
	_, err := approval.Ask(ctx, d.Store, approval.Approval{
		ID: id, Unit: run.ID(), Object: "draft." + run.ID(), Version: text.Version, Question: "publish?",
		ValidUntil: run.Envelope().DeadlineAt, Effect: envelope.Seconds(op.Expected + op.Variability), Confirm: envelope.Seconds(op.Confirm),
	})
	if err != nil {
		return err
	}
	_, err = approval.Resume(ctx, d.Store, id, approval.Checks{Version: func(ctx context.Context) (string, error) {
		now, err := record.Get[draft](ctx, d.Store, "draft."+run.ID())
		return now.Version, err
	}})
	if refused, ok := errors.AsType[*approval.RefusedError](err); ok {
		if refused.Reason == approval.Unanswered {
			return &envelope.Pause{For: id}
		}
		budget.FromContext(ctx).SetOutcome(budgetattr.OutcomeRejected)
	}
	return err
}

// Answer stores the editor's answer and lets the agent go on under the clock it has.
func (d *Desk) Answer(ctx context.Context, e envelope.Envelope, topic string, answer approval.Answer) error {
	if _, err := approval.Decide(ctx, d.Store, e.CancellationID+".publish", answer); err != nil {
		return err
	}
	return d.Send(ctx, KindBriefing, e, []byte(topic))
}

func ask(s Source, question string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) { return s(ctx, question) }
}
