"""One good input of every kind, from which the fuzzer begins."""

SEEDS: dict[str, tuple[bytes, ...]] = {
    "telegram": (
        b'{"update_id":1,"message":{"message_id":2,"date":3,"chat":{"id":4,"type":"private"},'
        b'"from":{"id":4,"is_bot":false,"first_name":"A"},"text":"hi @b",'
        b'"entities":[{"type":"mention","offset":3,"length":2}]}}',
    ),
    "discord": (
        b'{"op":0,"t":"MESSAGE_CREATE","s":2,"d":{"id":"10","channel_id":"3","guild_id":"4",'
        b'"author":{"id":"5","username":"ada"},"content":"<@1> hi","mentions":[{"id":"1"}],'
        b'"attachments":[{"url":"https://cdn.discordapp.com/a","size":1}]}}',
        b'{"op":0,"t":"READY","s":1,"d":{"session_id":"s","resume_gateway_url":"wss://x.discord.gg"}}',
        b'{"op":10,"d":{"heartbeat_interval":41250}}',
        b'{"id":"10","application_id":"2","type":2,"token":"t","channel_id":"3","user":{"id":"5"},'
        b'"data":{"name":"model","options":[{"name":"text","value":"fast"}]}}',
        b'{"id":"10","application_id":"2","type":3,"token":"t","channel_id":"3","guild_id":"4",'
        b'"member":{"user":{"id":"5"},"nick":"A"},"data":{"custom_id":"v"},"message":{"id":"9"}}',
        b'{"user_id":"5","channel_id":"3","message_id":"9","emoji":{"id":null,"name":"x"}}',
    ),
    "slack": (
        b'{"type":"event_callback","event":{"type":"message","channel":"C1LAB","user":"U1ADA",'
        b'"text":"<@U0BOT> hello <https://x.org|x>","ts":"1700000000.000100"}}',
        b"command=%2Fhermes&text=hello&user_id=U1ADA&channel_id=C1LAB&trigger_id=1",
        b"payload=%7B%22type%22%3A%22block_actions%22%2C%22user%22%3A%7B%22id%22%3A%22U1ADA%22%7D%2C"
        b"%22channel%22%3A%7B%22id%22%3A%22C1LAB%22%7D%2C%22actions%22%3A%5B%7B%22value%22%3A%22y%22%7D%5D%7D",
        b'{"type":"events_api","envelope_id":"e1","payload":{"type":"event_callback","team_id":"T1",'
        b'"event":{"type":"message","channel":"D1ADA","user":"U1ADA","text":"hi","ts":"1.2",'
        b'"files":[{"mimetype":"image/png","url_private":"https://x.org/a.png"}]}}}',
        b'{"type":"interactive","envelope_id":"e2","payload":{"type":"block_actions","user":{"id":'
        b'"U1ADA"},"channel":{"id":"C1LAB"},"container":{"message_ts":"1.2","thread_ts":"1.1"},'
        b'"actions":[{"action_id":"a","action_ts":"1.3","selected_option":{"value":"v"}}]}}',
        b'{"type":"reaction_added","user":"U1ADA","reaction":"+1","item_user":"U0BOT","event_ts":"1.3",'
        b'"item":{"type":"message","channel":"C1LAB","ts":"1.2"}}',
        b'{"type":"message_metadata_posted","user_id":"U0BOT","channel_id":"C1LAB","message_ts":"1.2",'
        b'"metadata":{"event_type":"hermes_delivery","event_payload":{"key":"k"}}}',
        b'{"type":"slash_commands","envelope_id":"e3","payload":{"command":"/hermes","text":"hi",'
        b'"user_id":"U1ADA","channel_id":"C1LAB","trigger_id":"1"}}',
    ),
    "matrix": (
        b'{"type":"m.room.message","sender":"@a:b","event_id":"$e","origin_server_ts":1,'
        b'"content":{"msgtype":"m.text","body":"hi"}}',
        b'{"next_batch":"s1","rooms":{"join":{"!r:b":{"timeline":{"events":[]}}}}}',
    ),
    "meta": (
        b'{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":'
        b'{"metadata":{"phone_number_id":"1"},"contacts":[{"profile":{"name":"A\\ud83d"},"wa_id":"491"}],'
        b'"messages":[{"from":"491700","id":"wamid.1","timestamp":"1700000000","type":"image","image":'
        b'{"id":"7","mime_type":"image/png","caption":"hi"},"context":{"id":"wamid.0"}},{"from":"491700",'
        b'"id":"wamid.2","interactive":{"button_reply":{"id":"c"}}}],"statuses":[{"id":"wamid.3","status":'
        b'"failed","biz_opaque_callback_data":"k","errors":[{"code":131047}]}]}}]}]}',
        b'{"object":"page","entry":[{"id":"1","messaging":[{"sender":{"id":"7"},"timestamp":1700000000000,'
        b'"message":{"mid":"m_1","text":"hi","attachments":[{"type":"image","payload":{"url":"https://x.org"}}],'
        b'"quick_reply":{"payload":"c"},"metadata":"k","is_echo":false}},{"sender":{"id":"7"},"reaction":'
        b'{"mid":"m_0","action":"react","emoji":"x"}},{"postback":{"payload":"p"}}]}]}',
    ),
    "sms": (
        b"MessageSid=SM00000000000000000000000000000000&From=%2B15558675310&Body=hi&NumMedia=1&MediaUrl0="
        b"https%3A%2F%2Fapi.twilio.com%2Fa&MediaContentType0=image%2Fpng&OptOutType=STOP",
        b"MessageSid=SM00000000000000000000000000000000&MessageStatus=undelivered&ErrorCode=30003",
    ),
    "email": (
        b"From: Ada <ada@example.net>\r\nTo: hermes@example.org\r\nMessage-ID: <1@example.net>\r\n"
        b"Subject: =?utf-8?q?gr=C3=BC=C3=9Fe?=\r\nIn-Reply-To: <0@example.org>\r\n"
        b"Authentication-Results: mx.example.org; dkim=pass header.d=example.net; spf=pass\r\n"
        b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n'
        b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n"
        b"\r\nhello=20there\r\n\r\n> quoted\r\n-- \r\nAda\r\n--b\r\nContent-Type: text/html\r\n\r\n"
        b"<p>hello <b>there</b>&amp;</p>\r\n--b\r\nContent-Type: image/png; name*=utf-8''a%20.png\r\n"
        b"Content-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n"
        b"--b--\r\n",
        b"From: mailer-daemon@example.net\r\nContent-Type: multipart/report; "
        b"report-type=delivery-status; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n"
        b"\r\nReporting-MTA: dns; mx\r\n\r\nFinal-Recipient: rfc822; ada@example.net\r\nAction: failed\r\n"
        b"Status: 5.1.1\r\nDiagnostic-Code: smtp; 550 no such user\r\n--b\r\n"
        b"Content-Type: text/rfc822-headers\r\n\r\nMessage-ID: <hermes.1@example.org>\r\n--b--\r\n",
    ),
    "imap": (
        b"* 2 EXISTS\r\n* OK [UIDVALIDITY 3] valid\r\nh1 OK [READ-WRITE] selected\r\n"
        b"* SEARCH 7\r\nh2 OK\r\n"
        b'* 1 FETCH (UID 7 RFC822.SIZE 5 INTERNALDATE "14-Nov-2023 22:13:20 +0000")\r\nh3 OK\r\n'
        b"* 1 FETCH (UID 7 BODY[]<0> {5}\r\nhello FLAGS (\\Seen))\r\nh4 OK done\r\n"
        b'* CAPABILITY IMAP4rev1 IDLE MOVE\r\n* 1 FETCH (UID 7 X ("a\\"b" NIL))\r\nh5 NO [UNAVAILABLE] later\r\n',
    ),
    "irc": (
        b":irc.example.org CAP * LS :sasl=PLAIN server-time message-tags account-tag\r\n"
        b":irc.example.org CAP * ACK :sasl server-time\r\nAUTHENTICATE +\r\n"
        b":irc.example.org 903 hermes :SASL done\r\n:irc.example.org 001 hermes :Welcome\r\n"
        b":irc.example.org 005 hermes CHANTYPES=# PREFIX=(ov)@+ :are supported\r\n"
        b":irc.example.org 376 hermes :End\r\n",
        b"@time=2023-11-14T22:13:20.000Z;msgid=a\\:b;account=ada :Ada!a@h PRIVMSG #lab :hermes: \x02hi\x02\r\n"
        b":Ada!a@h PRIVMSG hermes :\x01ACTION waves\x01\r\n:Ada!a@h NICK ada2\r\n"
        b":ada2!a@h PRIVMSG hermes :/help\r\n",
    ),
    "signatures": (
        b"X-Gitlab-Token: a secret of some length\r\nX-Gitlab-Event-UUID: 1\r\n\r\n{}",
        b"webhook-id: m1\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,aGk= v1,eW8=\r\n\r\n{}",
        b"X-Slack-Request-Timestamp: 1\r\nX-Slack-Signature: v0=00\r\n\r\n{}",
        b"X-Hub-Signature-256: sha256=00\r\nX-GitHub-Event: push\r\n\r\n{}",
        b"X-Telegram-Bot-Api-Secret-Token: a secret of some length\r\n\r\n{}",
    ),
    "web": (b'{"id":"1","conversation":"c","text":"hello"}',),
    "webhook": (b'{"type":"push","ref":"main","commits":[{"message":"fix"}]}',),
    "rest": (b'{"sender":"alice","text":"hello","id":"1"}',),
    "markup": (
        b"# a\n\n- **b** [c](https://d.e)\n\n```py\nf\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n",
    ),
}
