package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
)

type bits []byte

// False: it was set already.
func (b *bits) set(number int64) bool {
	for int64(len(*b)) <= number/8 {
		*b = append(*b, make([]byte, len(*b)+1024)...)
	}
	bit := byte(1) << (number % 8)
	isNew := (*b)[number/8]&bit == 0
	(*b)[number/8] |= bit
	return isNew
}

// What was run: a bit for each job's number, and another for what was run again.
type handled struct {
	mutex       sync.Mutex
	count       int64
	first, last float64
	ran, twice  bits
}

func nowMs() float64 { return float64(time.Now().UnixMicro()) / 1e3 }

func (h *handled) add(number int64) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.last = nowMs()
	if h.count == 0 {
		h.first = h.last
	}
	h.count++
	if !h.ran.set(number) {
		h.twice.set(number)
	}
}

func (h *handled) answer() answer {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return answer{"count": h.count, "first": h.first, "last": h.last,
		"ran": append(bits{}, h.ran...), "twice": append(bits{}, h.twice...)}
}

func serveWorker(ctx context.Context) error {
	var done handled
	client, _, err := open(ctx, 10, done.add)
	if err != nil {
		return err
	}
	say(answer{"answer": answer{"ready": true}})
	return serve(map[string]func(options) (answer, error){
		"go": func(options) (answer, error) {
			// A job counts when its end is committed; `river bench` counts in the same way.
			ended, _ := client.SubscribeConfig(&river.SubscribeConfig{
				ChanSize: 1_000_000, Kinds: []river.EventKind{river.EventKindJobCompleted}})
			go report(ended)
			return nil, client.Start(ctx)
		},
		"report": func(options) (answer, error) { return done.answer(), nil },
	})
}

// Says how many have ended now and then, when it has changed.
func report(ended <-chan *river.Event) {
	var count atomic.Int64
	go func() {
		for range ended {
			count.Add(1)
		}
	}()
	said := int64(0)
	for range time.Tick(20 * time.Millisecond) {
		if now := count.Load(); now != said {
			said = now
			say(answer{"handled": said})
		}
	}
}
