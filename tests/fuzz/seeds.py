"""One good input of every kind, from which the fuzzer begins."""

SEEDS: dict[str, tuple[bytes, ...]] = {
    "telegram": (
        b'{"update_id":1,"message":{"message_id":2,"date":3,"chat":{"id":4,"type":"private"},'
        b'"from":{"id":4,"is_bot":false,"first_name":"A"},"text":"hi @b",'
        b'"entities":[{"type":"mention","offset":3,"length":2}]}}',
    ),
    "slack": (
        b'{"type":"event_callback","event":{"type":"message","channel":"C1LAB","user":"U1ADA",'
        b'"text":"<@U0BOT> hello <https://x.org|x>","ts":"1700000000.000100"}}',
        b"command=%2Fhermes&text=hello&user_id=U1ADA&channel_id=C1LAB&trigger_id=1",
    ),
    "matrix": (
        b'{"type":"m.room.message","sender":"@a:b","event_id":"$e","origin_server_ts":1,'
        b'"content":{"msgtype":"m.text","body":"hi"}}',
        b'{"next_batch":"s1","rooms":{"join":{"!r:b":{"timeline":{"events":[]}}}}}',
    ),
    "webhook": (b'{"type":"push","ref":"main","commits":[{"message":"fix"}]}',),
    "rest": (b'{"sender":"alice","text":"hello","id":"1"}',),
    "markup": (
        b"# a\n\n- **b** [c](https://d.e)\n\n```py\nf\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n",
    ),
}
