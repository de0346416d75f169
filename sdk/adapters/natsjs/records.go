// Package natsjs carries units of work over NATS JetStream: a publisher, a worker, a store of their records in a key-value
// bucket, and the server's clock as reference.
//
// The stream keeps the messages, the bucket what is known of each unit. Let the consumer deliver without bound
// (MaxDeliver −1): attempts are counted in the unit, over all layers, and not renewed by a restart. Give the bucket a history
// of 1 and, if units are many, a TTL longer than any deadline.
package natsjs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/laxity-dev/laxity/sdk/record"
)

type records struct{ kv jetstream.KeyValue }

// Records keeps records in a key-value bucket.
func Records(kv jetstream.KeyValue) record.Store { return records{kv} }

// Get implements [record.Store].
func (r records) Get(ctx context.Context, key string) (record.Entry, error) {
	e, err := r.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return record.Entry{}, record.ErrNotFound
	}
	if err != nil {
		return record.Entry{}, fmt.Errorf("get %s: %w", key, err)
	}
	return entry(e), nil
}

func entry(e jetstream.KeyValueEntry) record.Entry {
	return record.Entry{Key: e.Key(), Value: e.Value(), Revision: e.Revision()}
}

// Put implements [record.Store].
func (r records) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if err := record.CheckKey(key); err != nil {
		return 0, err
	}
	var err error
	if revision == 0 {
		revision, err = r.kv.Create(ctx, key, value)
	} else {
		revision, err = r.kv.Update(ctx, key, value, revision)
	}
	if errors.Is(err, jetstream.ErrKeyExists) || wrongSequence(err) {
		return 0, record.ErrChanged
	}
	if err != nil {
		return 0, fmt.Errorf("put %s: %w", key, err)
	}
	return revision, nil
}

func wrongSequence(err error) bool {
	var js jetstream.JetStreamError
	if !errors.As(err, &js) || js.APIError() == nil {
		return false
	}
	code := js.APIError().ErrorCode
	return code == jetstream.JSErrCodeStreamWrongLastSequence || code == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// List implements [record.Store].
func (r records) List(ctx context.Context, key string) ([]record.Entry, error) {
	w, err := r.kv.WatchFiltered(ctx, []string{key, key + ".>"}, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", key, err)
	}
	defer func() { _ = w.Stop() }()
	var list []record.Entry
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("list %s: %w", key, context.Cause(ctx))
		case e, open := <-w.Updates():
			if e == nil {
				if !open {
					return nil, fmt.Errorf("list %s: the watch ended", key)
				}
				slices.SortFunc(list, func(a, b record.Entry) int { return cmp.Compare(a.Key, b.Key) })
				return list, nil
			}
			list = append(list, entry(e))
		}
	}
}

// Watch implements [record.Store].
func (r records) Watch(ctx context.Context, key string, found func(record.Entry)) error {
	w, err := r.kv.WatchFiltered(ctx, []string{key, key + ".>"}, jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("watch %s: %w", key, err)
	}
	go func() {
		defer func() { _ = w.Stop() }()
		for {
			select {
			case <-ctx.Done():
				return
			case e, open := <-w.Updates():
				if !open {
					return
				}
				if e != nil {
					found(entry(e))
				}
			}
		}
	}()
	return nil
}

// clockKey is the record that is written to learn the server's time.
const clockKey = "clock"

// Now returns a function that reads the server's time, a reference for [envelope.Clock.Measure].
func Now(kv jetstream.KeyValue) func(context.Context) (time.Time, error) {
	return func(ctx context.Context) (time.Time, error) {
		if _, err := kv.Put(ctx, clockKey, nil); err != nil {
			return time.Time{}, err
		}
		// The record of another who wrote later is as good: it was written during this call.
		e, err := kv.Get(ctx, clockKey)
		if err != nil {
			return time.Time{}, err
		}
		return e.Created(), nil
	}
}
