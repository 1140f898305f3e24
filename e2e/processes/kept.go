package processes

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Kept is what a session store has, in octets.
type Kept struct {
	Keys int64
	// Stored are keys, values, and members of sets with their scores; Resident is what Redis takes for these (MEMORY USAGE).
	Stored, Resident int64
}

// Less what was there before.
func (k Kept) Less(before Kept) Kept {
	return Kept{k.Keys - before.Keys, k.Stored - before.Stored, k.Resident - before.Resident}
}

// scoreSize is what the score of a sorted set's member takes.
const scoreSize = 8

// Kept says what the store has of each function, which is what stands between prefix and the next colon in a key.
func (s Store) Kept(ctx context.Context, prefix, password string) (map[string]Kept, error) {
	client := redis.NewClient(&redis.Options{Addr: net.JoinHostPort(s.Host, s.Port), Password: password})
	defer func() { _ = client.Close() }()
	out := map[string]Kept{}
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, prefix+"*", 1000).Result()
		if err != nil {
			return nil, err
		}
		each, err := sizes(ctx, client, keys)
		if err != nil {
			return nil, err
		}
		for n, key := range keys {
			name, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), ":")
			k := out[name]
			out[name] = Kept{k.Keys + 1, k.Stored + each[n].Stored, k.Resident + each[n].Resident}
		}
		if cursor = next; cursor == 0 {
			return out, nil
		}
	}
}

// sizes of what is under keys.
func sizes(ctx context.Context, client *redis.Client, keys []string) ([]Kept, error) {
	out := make([]Kept, len(keys))
	kinds, resident := make([]*redis.StatusCmd, len(keys)), make([]*redis.IntCmd, len(keys))
	if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n, key := range keys {
			kinds[n], resident[n] = p.Type(ctx, key), p.MemoryUsage(ctx, key, 0)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	texts, lists := make([]*redis.IntCmd, len(keys)), make([]*redis.StringSliceCmd, len(keys))
	if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n, key := range keys {
			switch kind := kinds[n].Val(); kind {
			case "string":
				texts[n] = p.StrLen(ctx, key)
			case "set":
				lists[n] = p.SMembers(ctx, key)
			case "zset":
				lists[n] = p.ZRange(ctx, key, 0, -1)
			default:
				return fmt.Errorf("%s: nothing that a session store has is a %s", key, kind)
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for n, key := range keys {
		out[n] = Kept{Keys: 1, Stored: int64(len(key)), Resident: resident[n].Val()}
		if texts[n] != nil {
			out[n].Stored += texts[n].Val()
			continue
		}
		for _, member := range lists[n].Val() {
			out[n].Stored += int64(len(member))
			if kinds[n].Val() == "zset" {
				out[n].Stored += scoreSize
			}
		}
	}
	return out, nil
}
