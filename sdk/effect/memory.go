package effect

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] that lives as long as its process: for tests. The zero Memory is empty and ready.
type Memory struct {
	mu       sync.Mutex
	effects  map[string]Effect
	evidence map[string][]Evidence
}

// Plan implements [Store].
func (m *Memory) Plan(_ context.Context, e Effect) (Effect, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.effects[e.Key]; ok {
		if old.Operation != e.Operation || old.Fingerprint != e.Fingerprint {
			return old, ErrConflict
		}
		return old, nil
	}
	if m.effects == nil {
		m.effects, m.evidence = map[string]Effect{}, map[string][]Evidence{}
	}
	e.Version = 1
	m.effects[e.Key] = e
	return e, nil
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, key string) (Effect, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.effects[key]
	if !ok {
		return e, ErrNotFound
	}
	return e, nil
}

// Move implements [Store].
func (m *Memory) Move(_ context.Context, e Effect) (Effect, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, ok := m.effects[e.Key]
	if !ok || old.Version != e.Version {
		return e, ErrMoved
	}
	if err := Check(old.State, e.State); err != nil {
		return e, err
	}
	e.Version++
	m.effects[e.Key] = e
	return e, nil
}

// Unsettled implements [Store].
func (m *Memory) Unsettled(_ context.Context, before time.Time, limit int) ([]Effect, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Effect
	for _, e := range m.effects {
		if !e.Settled() && e.ChangedAt.Before(before) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b Effect) int {
		return cmp.Or(a.ChangedAt.Compare(b.ChangedAt), cmp.Compare(a.Key, b.Key))
	})
	return list[:min(limit, len(list))], nil
}

// AddEvidence implements [Store].
func (m *Memory) AddEvidence(_ context.Context, key string, ev Evidence) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.effects[key]; !ok {
		return ErrNotFound
	}
	m.evidence[key] = append(m.evidence[key], ev)
	return nil
}

// Evidence implements [Store].
func (m *Memory) Evidence(_ context.Context, key string) ([]Evidence, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.evidence[key]), nil
}
