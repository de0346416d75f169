package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/effect"
)

type effects Store

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Plan implements [effect.Store].
func (s *effects) Plan(ctx context.Context, e effect.Effect) (effect.Effect, error) {
	res, err := s.db.ExecContext(ctx, planSQL, e.Key, e.Operation, e.Unit, e.Payload, e.Fingerprint, string(e.State), 1, e.Sends,
		micros(e.PlannedAt), micros(e.SentAt), micros(e.SettledBy), micros(e.NotAfter), micros(e.ChangedAt), e.Result, e.Reason)
	if err != nil {
		return e, fmt.Errorf("plan: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return e, fmt.Errorf("plan: %w", err)
	}
	if n == 1 {
		e.Version = 1
		return e, nil
	}
	old, err := s.Get(ctx, e.Key)
	if err == nil && (old.Operation != e.Operation || old.Fingerprint != e.Fingerprint) {
		err = effect.ErrConflict
	}
	return old, err
}

// Get implements [effect.Store].
func (s *effects) Get(ctx context.Context, key string) (effect.Effect, error) {
	e, err := scan(s.db.QueryRowContext(ctx, getSQL, key))
	if errors.Is(err, sql.ErrNoRows) {
		return e, effect.ErrNotFound
	}
	return e, err
}

func scan(row interface{ Scan(...any) error }) (effect.Effect, error) {
	var e effect.Effect
	var state string
	var planned, sent, settled, notAfter, changed int64
	err := row.Scan(&e.Key, &e.Operation, &e.Unit, &e.Payload, &e.Fingerprint, &state, &e.Version, &e.Sends,
		&planned, &sent, &settled, &notAfter, &changed, &e.Result, &e.Reason)
	e.State = budgetattr.EffectState(state)
	e.PlannedAt, e.SentAt, e.SettledBy, e.NotAfter, e.ChangedAt = instant(planned), instant(sent), instant(settled), instant(notAfter), instant(changed)
	return e, err
}

// Move implements [effect.Store].
func (s *effects) Move(ctx context.Context, e effect.Effect) (effect.Effect, error) {
	// States only ever move along the protocol, so the state it was read with is one that may become the new one.
	for _, from := range []effect.State{budgetattr.EffectPlanned, budgetattr.EffectSent, budgetattr.EffectUncertain} {
		if effect.Check(from, e.State) != nil {
			continue
		}
		res, err := s.db.ExecContext(ctx, moveSQL, string(e.State), e.Sends, micros(e.SentAt), micros(e.SettledBy), micros(e.ChangedAt),
			e.Result, e.Reason, e.Key, e.Version, string(from))
		if err != nil {
			return e, fmt.Errorf("move: %w", err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return e, fmt.Errorf("move: %w", err)
		}
		if n == 1 {
			e.Version++
			return e, nil
		}
	}
	old, err := s.Get(ctx, e.Key)
	if err == nil && old.Version == e.Version {
		return e, effect.Check(old.State, e.State)
	}
	if err != nil && !errors.Is(err, effect.ErrNotFound) {
		return e, err
	}
	return e, effect.ErrMoved
}

// Unsettled implements [effect.Store].
func (s *effects) Unsettled(ctx context.Context, before time.Time, limit int) ([]effect.Effect, error) {
	rows, err := s.db.QueryContext(ctx, unsettledSQL, micros(before), limit)
	if err != nil {
		return nil, fmt.Errorf("unsettled: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var list []effect.Effect
	for rows.Next() {
		e, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("unsettled: %w", err)
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// AddEvidence implements [effect.Store].
func (s *effects) AddEvidence(ctx context.Context, key string, ev effect.Evidence) error {
	if _, err := s.Get(ctx, key); err != nil {
		return err
	}
	for { // of those that add at once one gets the number
		res, err := s.db.ExecContext(ctx, addEvidenceSQL, key, micros(ev.At), ev.Result, ev.Text, key)
		if err != nil {
			return fmt.Errorf("evidence: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
	}
}

// Evidence implements [effect.Store].
func (s *effects) Evidence(ctx context.Context, key string) ([]effect.Evidence, error) {
	rows, err := s.db.QueryContext(ctx, evidenceSQL, key)
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var list []effect.Evidence
	for rows.Next() {
		var ev effect.Evidence
		var at int64
		if err := rows.Scan(&at, &ev.Result, &ev.Text); err != nil {
			return nil, fmt.Errorf("evidence: %w", err)
		}
		ev.At = instant(at)
		list = append(list, ev)
	}
	return list, rows.Err()
}
