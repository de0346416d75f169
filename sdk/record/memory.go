package record

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Memory is a [Store] that lives as long as its process. The zero Memory is empty and ready.
type Memory struct {
	mu       sync.Mutex
	revision uint64
	records  map[string]Entry
	written  chan struct{} // closed at the next write
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, key string) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.records[key]
	if !ok {
		return Entry{}, ErrNotFound
	}
	return e, nil
}

// Put implements [Store].
func (m *Memory) Put(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if err := CheckKey(key); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records[key].Revision != revision {
		return 0, ErrChanged
	}
	if m.records == nil {
		m.records = map[string]Entry{}
	}
	m.revision++
	m.records[key] = Entry{Key: key, Value: slices.Clone(value), Revision: m.revision}
	if m.written != nil {
		close(m.written)
		m.written = nil
	}
	return m.revision, nil
}

// List implements [Store].
func (m *Memory) List(_ context.Context, key string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Entry
	for k, e := range m.records {
		if Below(k, key) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.Key, b.Key) })
	return list, nil
}

// Watch implements [Store].
func (m *Memory) Watch(ctx context.Context, key string, found func(Entry)) error {
	go func() {
		seen := map[string]uint64{}
		for {
			var fresh []Entry
			m.mu.Lock()
			for k, e := range m.records {
				if Below(k, key) && e.Revision != seen[k] {
					seen[k] = e.Revision
					fresh = append(fresh, e)
				}
			}
			if m.written == nil {
				m.written = make(chan struct{})
			}
			written := m.written
			m.mu.Unlock()
			for _, e := range fresh {
				found(e)
			}
			select {
			case <-ctx.Done():
				return
			case <-written:
			}
		}
	}()
	return nil
}
