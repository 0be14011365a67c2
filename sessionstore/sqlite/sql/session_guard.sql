SELECT owner, fence, version, last_turn, seq, agent, epoch FROM session WHERE tenant = ? AND session = ?
